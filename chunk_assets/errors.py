"""Errors a user can cause: each says what is wrong, where, and what to do."""


class ChunkAssetsError(Exception):
    """Base of every error a user can cause; the command line shows its message, no traceback."""


class ConfigurationError(ChunkAssetsError):
    """The configuration file, an inline strategy or an environment variable is wrong."""


class SourceError(ChunkAssetsError):
    """A source cannot be listed or read as a whole (a single bad item is quarantined instead)."""


class ParseError(ChunkAssetsError):
    """One document cannot be turned into text; it goes to quarantine with this message."""


class ChunkingError(ChunkAssetsError):
    """One document cannot be cut; it goes to quarantine with this message."""


class EmbeddingError(ChunkAssetsError):
    """A model cannot be loaded, or a text cannot be embedded."""


class VectorStoreError(ChunkAssetsError):
    """The vector store refuses, is locked for too long, or holds something else than expected."""


class TableDamagedError(ChunkAssetsError):
    """A table cannot be read: files are missing, cut short or damaged."""


class GoldError(ChunkAssetsError):
    """A gold set is malformed, or one of its quotes does not anchor in its document."""


class EvaluationError(ChunkAssetsError):
    """Rankings, index and gold set do not belong together."""
