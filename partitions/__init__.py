"""Partition definitions, the mappings between them, and the bucket of a document."""
