"""Identity is content: ids and fingerprints that never depend on time, run or machine.

All hashes are BLAKE2b with 128-bit digests in hexadecimal (32 characters), personalised by the
kind of thing hashed, so that equal bytes of two kinds never share an identity.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NewType

DocumentId = NewType("DocumentId", str)
ChunkId = NewType("ChunkId", str)
VectorKey = NewType("VectorKey", str)
Fingerprint = NewType("Fingerprint", str)

_NAMESPACE = uuid.UUID("5f2e6f3a-6f0b-5d0e-9a51-8f6b8f1c2d11")
_SEPARATOR = b"\x00"

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def _digest(kind: str, parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16, person=kind.encode("ascii"))
    for part in parts:
        # The length before each part keeps ("ab", "c") and ("a", "bc") apart.
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def _utf8(text: str) -> bytes:
    # Lone surrogates can stand in a path or a broken document; identity must not fail on them.
    return text.encode("utf-8", "surrogatepass")


def canonical_json(value: Json) -> str:
    """One spelling per value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: if the value holds NaN or infinity.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def fingerprint(kind: str, value: Json) -> Fingerprint:
    """The identity of a configuration: the hash of its canonical JSON."""
    return Fingerprint(_digest(kind, [_utf8(canonical_json(value))]))


def document_id(corpus: str, uri: str) -> DocumentId:
    """UUIDv5 of the corpus and the URI relative to the source's root (never the bare file name)."""
    return DocumentId(str(uuid.uuid5(_NAMESPACE, f"{corpus}\n{uri}")))


def content_hash(raw: bytes) -> str:
    """The identity of a source item's bytes."""
    return _digest("content", [raw])


def text_hash(text: str) -> str:
    """The identity of a normalized text."""
    return _digest("text", [_utf8(text)])


def chunk_id(
    document: DocumentId, *, level: int, text: str, embed_text: str, occurrence: int
) -> ChunkId:
    """The identity of a chunk, a UUID because it is the vector store's point id.

    Args:
        document: the document the chunk is cut from.
        level: 0 for ordinary chunks, higher for parents.
        text: the slice of the document.
        embed_text: what the model is given.
        occurrence: the number of equal chunks before it in the document (same four values above),
            so that a repeated text keeps one point per place.
    """
    digest = _digest(
        "chunk",
        [
            _utf8(document),
            str(level).encode(),
            _utf8(text),
            _utf8(embed_text),
            str(occurrence).encode(),
        ],
    )
    return ChunkId(str(uuid.UUID(hex=digest)))


def vector_key(embedder: Fingerprint, embed_text: str) -> VectorKey:
    """The identity of a vector: the model that made it and exactly the text it was given."""
    return VectorKey(_digest("vector", [_utf8(embedder), _utf8(embed_text)]))


def data_version(kind: str, rows: Iterable[Sequence[Json]]) -> str:
    """The identity of a partition's content, independent of the order of its rows."""
    return _digest(kind, sorted(_utf8(canonical_json(list(row))) for row in rows))
