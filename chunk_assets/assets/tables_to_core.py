"""Rows of tables as the core's own types."""

import json
from typing import Any

from chunk_assets.lineage.identity import DocumentId
from chunk_assets.parsing.document import Block, BlockKind, Document


def document_of(row: dict[str, Any]) -> Document:
    """A row of `documents` as a document."""
    return Document(
        document_id=DocumentId(row["document_id"]),
        uri=row["uri"],
        text=row["text"],
        blocks=tuple(
            Block(
                kind=BlockKind(block["kind"]),
                start=block["start"],
                end=block["end"],
                level=block["level"],
                heading_path=tuple(block["heading_path"]),
                page=block["page"],
                attributes=json.loads(block["attributes"]),
            )
            for block in row["blocks"]
        ),
        title=row["title"],
        format=row["format"],
        metadata=json.loads(row["metadata"]),
    )
