"""The table of a static model: a text is the mean of its tokens' rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.static_files import StaticFiles
from chunk_assets.errors import EmbeddingError

# A text is summed in parts of this many tokens, so that its rows stay in the processor's cache.
_TOKENS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class StaticTable:
    """Rows, which token has which, and how much it weighs.

    Token `i` stands for `weights[i] * rows[mapping[i]]`, as in model2vec's `StaticModel`
    (`_encode_helper`, version 0.10); without a mapping it is row `i`, without weights all weigh 1.
    """

    rows: npt.NDArray[np.float32]
    """Shape (rows, dimension)."""
    mapping: npt.NDArray[np.int64] | None = None
    """Shape (tokens,)."""
    weights: npt.NDArray[np.float64] | None = None
    """Shape (tokens,)."""

    @property
    def tokens(self) -> int:
        """How many token ids it knows."""
        return len(self.rows if self.mapping is None else self.mapping)

    def mean(self, token_ids: Sequence[int]) -> npt.NDArray[np.float64]:
        """The mean of the tokens' weighted rows: shape (dimension,); zero without tokens.

        It depends on nothing but the tokens and their order, to the last bit.
        """
        ids = np.array(token_ids, dtype=np.int64)
        total = np.zeros(self.rows.shape[1])
        for start in range(0, len(ids), _TOKENS_AT_ONCE):
            part = ids[start : start + _TOKENS_AT_ONCE]
            rows = self.rows[part if self.mapping is None else self.mapping[part]]
            if self.weights is None:
                total += rows.sum(axis=0, dtype=np.float64)
            else:
                total += (rows * self.weights[part, np.newaxis]).sum(axis=0)
        return total / max(1, len(ids))


def load_table(files: StaticFiles, vocabulary_size: int) -> StaticTable:
    """Read a table into memory, in float32.

    Args:
        files: where it is.
        vocabulary_size: how many token ids there are.

    Raises:
        EmbeddingError: if it cannot be read, or lacks a row for a token.
    """
    import safetensors

    try:
        with safetensors.safe_open(files.table_file, framework="numpy") as file:
            rows = file.get_tensor(files.table)
            others = {
                name: file.get_tensor(name)
                for name in ("mapping", "weights")
                if files.is_model2vec and name in file.keys()  # noqa: SIM118 - it is no mapping
            }
    except (OSError, TypeError, safetensors.SafetensorError) as error:
        raise EmbeddingError(
            f"model {files.source!r}: {files.table_file} cannot be read: {error}. Fetch the model "
            "again."
        ) from error
    table = StaticTable(
        rows=np.ascontiguousarray(rows, dtype=np.float32),
        mapping=others["mapping"].astype(np.int64) if "mapping" in others else None,
        weights=others["weights"].astype(np.float64) if "weights" in others else None,
    )
    reached = vocabulary_size if table.mapping is None else int(table.mapping.max(initial=-1)) + 1
    given = {"embeddings": (len(table.rows), reached)}
    if table.mapping is not None:
        given["mapping"] = (len(table.mapping), vocabulary_size)
    if table.weights is not None:
        given["weights"] = (len(table.weights), vocabulary_size)
    for name, (entries, needed) in given.items():
        if entries < needed:
            raise EmbeddingError(
                f"model {files.source!r}: {files.table_file} has {entries} {name}, but its "
                f"tokenizer needs {needed}: table and tokenizer are of different models. Fetch "
                "the model again."
            )
    return table
