"""The corpora and questions of Chroma's chunking evaluation.

Source: github.com/brandonstarxel/chunking_evaluation (MIT), commit d451fc4,
`chunking_evaluation/evaluation_framework/general_evaluation_data`.
"""

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path

from chunk_assets.evaluation.anchor import AnchoredQuery, Place

CORPORA = ("state_of_the_union", "wikitexts", "chatlogs", "finance", "pubmed")


class DataMissingError(Exception):
    """The benchmark's data is not on this machine."""


@dataclass(frozen=True, slots=True)
class ChromaData:
    """Five documents, one a corpus, all searched together; questions with their excerpts."""

    texts: dict[str, str]
    """Text by file name (`state_of_the_union.md`)."""
    queries: tuple[AnchoredQuery, ...]


def data_folder() -> Path:
    """Where the data lies.

    Raises:
        DataMissingError: if it is not there, with the reason.
    """
    root = os.environ.get("CHUNK_ASSETS_SHARED_DATA")
    if root is None:
        raise DataMissingError(
            "CHUNK_ASSETS_SHARED_DATA is not set; set it to the folder that holds chroma/docs and "
            "chroma/questions_df.csv"
        )
    folder = Path(root) / "chroma"
    if not (folder / "questions_df.csv").is_file():
        raise DataMissingError(f"there is no {folder / 'questions_df.csv'}")
    return folder


def load(folder: Path, corpora: tuple[str, ...] = CORPORA) -> ChromaData:
    """Read some or all of the corpora, with the questions about them."""
    texts = {
        f"{name}.md": (folder / "docs" / f"{name}.md").read_bytes().decode("utf-8")
        for name in corpora
    }
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    queries = tuple(
        AnchoredQuery(
            query_id=f"chroma-{number:04d}",
            query=row["question"],
            doc_id=None,
            evidence=tuple(
                (Place(f"{row['corpus_id']}.md", part["start_index"], part["end_index"]),)
                for part in json.loads(row["references"])
            ),
            documents={},
        )
        for number, row in enumerate(rows)
        if row["corpus_id"] in corpora
    )
    return ChromaData(texts, queries)
