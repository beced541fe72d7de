"""How many tokens a bakeoff embeds: several strategies on one corpus, and again after edits."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

_DOCUMENTS = 12
STRATEGIES: dict[str, dict[str, object]] = {
    "sentences_200": {"chunker": "sentence_aware", "max_tokens": 200},
    "sentences_250": {"chunker": "sentence_aware", "max_tokens": 250},
    "windows_200": {"chunker": "fixed_overlap", "max_tokens": 200, "overlap": 100},
    "sections_250": {"chunker": "hierarchy", "max_tokens": 250},
    "sections_200": {"chunker": "hierarchy", "max_tokens": 200},
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the workload."""

    name: str
    embedded_tokens: int
    """Content tokens that went through the model."""
    chunk_tokens: int
    """Those of all chunks of all strategies: what an embedder without a memory is given."""
    changed_tokens: int
    """Those of the documents that the step touched: what it is given by a pipeline that compares
    files."""


def run_bakeoff(documents: Path, work: Path) -> list[Step]:
    """Run the workload through `chunk-assets apply`.

    Args:
        documents: a folder of Markdown files, of which some are taken.
        work: an empty folder.
    """
    files = []
    for file in sorted(documents.rglob("*.md"))[:_DOCUMENTS]:
        copy = work / "docs" / file.relative_to(documents)
        copy.parent.mkdir(parents=True, exist_ok=True)
        files.append(Path(shutil.copy(file, copy)))
    configuration = work / "chunk_assets.yaml"
    strategies = dict(STRATEGIES)
    steps = [_step("the first bakeoff", work, configuration, strategies, files)]
    steps.append(_step("the same again", work, configuration, strategies, []))
    strategies["winner"] = {**STRATEGIES["sections_250"], "description": "chosen"}
    steps.append(
        _step("the winner under a name of its own", work, configuration, strategies, files)
    )
    for file in files[:3]:
        text = file.read_text(encoding="utf-8")
        middle = text.index("\n", len(text) // 2)
        file.write_text(f"{text[:middle]}\n\nOne more remark.\n{text[middle:]}", encoding="utf-8")
    steps.append(_step("3 files edited", work, configuration, strategies, files[:3]))
    renamed = [file.rename(file.with_name(f"new-{file.name}")) for file in files[3:6]]
    steps.append(_step("3 files renamed", work, configuration, strategies, renamed))
    return steps


def _step(
    name: str,
    work: Path,
    configuration: Path,
    strategies: Mapping[str, Mapping[str, object]],
    touched: Sequence[Path],
) -> Step:
    corpus = {
        "source": {"kind": "files", "root": "docs"},
        "buckets": 1,
        "strategies": list(strategies),
    }
    settings = {
        "version": 1,
        "embedders": {"minilm": {}},
        "strategies": strategies,
        "corpora": {"bench": corpus},
    }
    configuration.write_text(yaml.safe_dump(json.loads(json.dumps(settings))), encoding="utf-8")
    report = json.loads(_run("apply", "--json", configuration=configuration))
    names = ", ".join(f"'{name}'" for name in strategies)
    query = (
        "select uri, sum(size)::bigint as tokens from lake.chunks "  # noqa: S608 - our own names
        f"where strategy in ({names}) group by uri"
    )
    rows = json.loads(_run("sql", "--json", query, configuration=configuration))
    tokens = {row["uri"]: int(row["tokens"]) for row in rows}
    uris = {path.relative_to(work / "docs").as_posix() for path in touched}
    return Step(
        name,
        int(report["embeddings"]["tokens"]),
        sum(tokens.values()),
        sum(count for uri, count in tokens.items() if uri in uris),
    )


def _run(*arguments: str, configuration: Path) -> str:
    command = str(Path(sys.executable).with_name("chunk-assets"))
    done = subprocess.run(
        [command, *arguments, "--config", str(configuration)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 2):
        raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
