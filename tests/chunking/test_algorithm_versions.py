"""Chunks change only together with a version, since versions are what re-cuts old documents."""

import pytest
from chunking_documents import markdown
from chunking_tokenizers import wordpiece

from chunk_assets.chunking.pipeline import STAGES_VERSION, chunk_document
from chunk_assets.chunking.strategy import CHUNKERS, parse_strategy
from chunk_assets.lineage.identity import fingerprint

TEXT = """An opening line. And another, by Dr. Ames, at 9 a.m. on No. 7 Quay St. It rained.

# Pump

## Before use

Keep it upright.

## Daily use

Fill the tank. Open the valve before you start the motor. Wait until the lamp
turns green, which takes about a minute in cold weather.

| id | unit |
|---|---|
| 1 | kg |

```py
if ok:
    return pump
```

- first the tank
    - then the valve

# 猫

猫在睡觉。狗在跑步。แมวกินปลาในบ้านสีขาวทุกเช้า e\u0301te\u0301 👨‍👩‍👧‍👦 internationalization
"""

LIMITS = [{"max_words": 12}, {"max_characters": 60}, {"max_tokens": 20}]
VARIANTS = [{}, {"overlap": 0.3, "min_size": 4, "context": ["title", "heading_path"]}]

DIGESTS = {
    ("fixed_overlap", 1, 1): "ef8babc59310cdba5b4ea3ddfd998baf",
    ("sentence_aware", 1, 1): "70adc654d04c77ba4803bc245da14971",
    ("hierarchy", 1, 1): "83bef7f85d01eeda7274016b828dca46",
}


def digest(chunker: str) -> str:
    made = []
    for limit in LIMITS:
        for variant in VARIANTS:
            strategy = parse_strategy({"chunker": chunker, **limit, **variant})
            chunks = chunk_document(markdown(TEXT), strategy, wordpiece())
            made.append([[c.start, c.end, c.overlap_start, c.embed_text, *c.flags] for c in chunks])
    return fingerprint("chunks", made)


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_chunks_are_those_of_the_version(chunker: str) -> None:
    version = (chunker, CHUNKERS[chunker].VERSION, STAGES_VERSION)

    assert digest(chunker) == DIGESTS.get(version), (
        f"{version} makes other chunks than it did. If that is meant, raise the chunker's VERSION, "
        "or STAGES_VERSION if a shared stage changed, and put the new digest here: chunks made "
        "before would otherwise never be made again."
    )
