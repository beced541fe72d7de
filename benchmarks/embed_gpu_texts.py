"""Texts that are there wherever the benchmark can run: docstrings of installed packages."""

import ast
import importlib.util
import random
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from chunk_assets.embedding.tokenizer import Tokenizer

PACKAGES = ("numpy", "torch", "transformers", "scipy", "sklearn")
CHARACTERS = 2_000_000
# Lengths in characters, so that in tokens they are spread about as chunks of documentation are:
# 4,000 chunks of three corpora had 164 tokens in the mean, 5 % of them under 76 or over 231.
_MEAN, _DEVIATION, _LEAST, _MOST = 600, 190, 40, 1000


def docstrings(packages: Sequence[str] = PACKAGES, characters: int = CHARACTERS) -> str:
    """Docstrings of installed packages, in the order of their files, until there are enough."""
    parts: list[str] = []
    size = 0
    for path in _sources(packages):
        for docstring in _docstrings(path):
            parts.append(docstring)
            size += len(docstring)
        if size >= characters:
            break
    return "\n\n".join(parts)


def sample_texts(source: str, count: int, tokenizer: Tokenizer, most_tokens: int) -> list[str]:
    """Passages from random places, none longer than `most_tokens`; the same every time."""
    draw = random.Random(0)
    texts: list[str] = []
    while len(texts) < count:
        wanted = [_passage(source, draw) for _ in range(count - len(texts))]
        counted = zip(wanted, tokenizer.count(wanted), strict=True)
        texts += [text for text, tokens in counted if 0 < tokens <= most_tokens]
    return texts


def _passage(source: str, draw: random.Random) -> str:
    length = int(min(_MOST, max(_LEAST, draw.gauss(_MEAN, _DEVIATION))))
    start = draw.randrange(max(1, len(source) - length))
    # From one blank to another, so that no word is cut.
    _, _, passage = source[start : start + length].partition(" ")
    return " ".join(passage.split()[:-1])


def _sources(packages: Sequence[str]) -> Iterator[Path]:
    for package in packages:
        found = importlib.util.find_spec(package)
        for place in (found.submodule_search_locations or []) if found else []:
            yield from sorted(Path(place).rglob("*.py"))


def _docstrings(path: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in other people's code
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring and len(docstring) >= 200:
                yield docstring
