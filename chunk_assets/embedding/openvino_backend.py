"""The backend for processors: OpenVINO, with one thread a batch and a batch a core."""

import functools
import threading
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from chunk_assets.embedding.config import EmbedderConfig, Precision
from chunk_assets.embedding.embedder import Embedder
from chunk_assets.embedding.engine import Batch
from chunk_assets.embedding.hardware import available_cores, resolve_device, resolve_precision
from chunk_assets.embedding.local_embedder import LocalEmbedder
from chunk_assets.embedding.model_files import ModelFiles, locate_model, read_model_files
from chunk_assets.embedding.openvino_library import silence_telemetry
from chunk_assets.embedding.openvino_model import converted_model
from chunk_assets.errors import ConfigurationError, EmbeddingError

if TYPE_CHECKING:
    import openvino

# What a core's caches hold: larger batches were slower.
_BATCH_TOKENS = 1024
# With 1 a new process spent a tenth of its time on compiling kernels for single lengths.
_LENGTH_STEP = 8
_FIRST_USE = threading.Lock()


def build_openvino_embedder(name: str, config: EmbedderConfig) -> Embedder:
    """An embedder of a local, packaged or hub model. Loads no library and no weights.

    Raises:
        ConfigurationError: if the configuration wants what only another backend offers.
        EmbeddingError: if the model cannot be found or is not supported.
    """
    device, _ = resolve_device(config)
    precision, _ = resolve_precision(config)
    if device != "cpu" or precision == "float16":
        raise ConfigurationError(
            f"embedders.{name}: backend openvino runs on the processor in float32 or bfloat16, but "
            f"device is {device!r} and precision {precision!r}: use backend: torch"
        )
    files = read_model_files(config.model, locate_model(config.model, config.revision))
    engine = OpenVinoEngine(files, precision, config.threads)
    if config.backend != "auto":
        return LocalEmbedder(name, config, files, engine)
    from chunk_assets.embedding.torch_backend import TorchEngine

    reference = TorchEngine(files, device, precision)
    return LocalEmbedder(name, config, files, engine, reference)


class OpenVinoEngine:
    """A sentence-transformers model as one graph, pooling and what follows it included.

    Every batch has a single thread to itself, so that as many run side by side as there are cores
    and none of them waits for another.
    """

    def __init__(self, files: ModelFiles, precision: Precision, threads: int | None = None) -> None:
        self._files = files
        self._precision: Precision = precision
        self._streams = min(threads or available_cores(), available_cores())
        self._of_thread = threading.local()
        self._started = False

    @property
    def name(self) -> str:
        """What it is called where it is said what computed a vector."""
        return "openvino"

    @property
    def precision(self) -> Precision:
        """What matrix products are computed in."""
        return self._precision

    @property
    def uses_cores(self) -> bool:
        """It runs on the processor."""
        return True

    @property
    def batch_tokens(self) -> int:
        """How many tokens of a batch run best."""
        return _BATCH_TOKENS

    @property
    def fewest_tokens(self) -> int:
        """Batches of any size give the same bits."""
        return 0

    @property
    def length_step(self) -> int:
        """OpenVINO compiles kernels for every new shape, so there are to be few."""
        return _LENGTH_STEP

    @property
    def most_padding(self) -> float:
        """Only inputs that are padded to one length go together."""
        return 0.0

    def start(self, threads: int) -> int:
        """Load the model; every thread takes a batch of its own."""
        # What two threads of a process ask OpenVINO for the first time at the same moment can lock
        # both up (it initializes its type tables while it waits for Python's own lock).
        with _FIRST_USE:
            if not self._started:
                self.forward(Batch(np.zeros((1, 1), dtype=np.int64), np.ones(1, dtype=np.int64), 0))
                self._started = True
        return min(threads, self._streams)

    def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Pooled vectors: shape (rows, dimension)."""
        mask = pooled = batch.mask
        if batch.prompt_tokens and not self._pools_prompts:
            pooled = mask.copy()
            pooled[:, : batch.prompt_tokens] = 0
        if not hasattr(self._of_thread, "request"):
            self._of_thread.request = self._model.create_infer_request()
        # The rows are copied: the next batch of this thread overwrites them.
        rows = self._of_thread.request.infer([batch.token_ids, mask, pooled], share_inputs=True)[0]
        return np.array(rows, dtype=np.float32)

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether a smaller batch could have succeeded."""
        text = str(error).lower()
        return isinstance(error, MemoryError) or "bad_alloc" in text or "allocat" in text

    @functools.cached_property
    def _pools_prompts(self) -> bool:
        return all(
            module.settings.get("include_prompt", True)
            for module in self._files.modules
            if module.kind == "Pooling"
        )

    @functools.cached_property
    def _model(self) -> "openvino.CompiledModel":
        silence_telemetry()
        import openvino

        path = converted_model(self._files)
        try:
            return openvino.Core().compile_model(
                path,
                "CPU",
                {
                    "INFERENCE_PRECISION_HINT": "bf16" if self._precision == "bfloat16" else "f32",
                    "NUM_STREAMS": self._streams,
                    "INFERENCE_NUM_THREADS": self._streams,
                    # Processes side by side would all be pinned to the same first cores.
                    "ENABLE_CPU_PINNING": False,
                },
            )
        except RuntimeError as error:
            raise EmbeddingError(
                f"model {self._files.source!r}: its converted copy {path} cannot be loaded: "
                f"{error}. Delete the folder, so that it is made again, or use backend: torch."
            ) from error
