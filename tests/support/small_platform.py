"""A small corpus of Markdown files with a counting embedder, built by real Dagster runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from counting_embedder import embedded_texts

from chunk_assets.apply import Materialized, Report, apply
from chunk_assets.selection import parse_selection
from partitions.stages import StagePartition
from resources.platform import Platform


def section(title: str, *paragraphs: str) -> str:
    """A Markdown section."""
    return "\n\n".join([f"## {title}", *paragraphs]) + "\n\n"


def guide(name: str, sections: int = 3) -> str:
    """A document of some sections, each with text of its own."""
    parts = [f"# Guide to {name}\n\n"]
    for number in range(sections):
        parts.append(
            section(
                f"{name} part {number}",
                f"The {name} needs care in step {number}: open the valve, then wait.",
                f"After {number + 2} minutes the {name} is ready and the lamp turns green.",
            )
        )
    return "".join(parts)


@dataclass
class NullObserver:
    """Keeps what it is told."""

    planned_total: int = 0
    skips: list[tuple[StagePartition, str]] = field(default_factory=list)

    def planned(self, total: int) -> None:
        self.planned_total = total

    def started(self, corpus: str, work: StagePartition) -> None:
        pass

    def finished(self, result: Materialized) -> None:
        pass

    def skipped(self, corpus: str, work: StagePartition, why: str) -> None:
        self.skips.append((work, why))


STRATEGIES: dict[str, dict[str, Any]] = {
    "hierarchy": {"chunker": "hierarchy", "max_words": 60},
    "sentences": {"chunker": "sentence_aware", "max_words": 30},
}


@dataclass
class SmallPlatform:
    """Files, a configuration and an instance; every `apply` reads the configuration anew."""

    folder: Path
    instance: dg.DagsterInstance
    strategies: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(STRATEGIES))
    corpus: dict[str, Any] = field(default_factory=dict)
    embedder_options: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    @property
    def config_file(self) -> Path:
        return self.folder / "chunk_assets.yaml"

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.docs / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def configure(self) -> Path:
        configuration = {
            "embedders": {
                "counting": {
                    "backend": "custom",
                    "factory": "counting_embedder:build",
                    "options": {"log": str(self.folder / "embedded.log"), **self.embedder_options},
                }
            },
            "strategies": self.strategies,
            "corpora": {
                "guides": {
                    "source": {"kind": "files", "root": "docs"},
                    "buckets": 2,
                    **self.corpus,
                }
            },
            **self.extra,
        }
        self.config_file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
        return self.config_file

    def platform(self) -> Platform:
        return Platform.from_file(self.configure())

    def apply(self, *select: str) -> Report:
        platform = self.platform()
        selection = parse_selection(select, platform.corpora)
        return apply(platform, self.instance, selection, NullObserver())

    def embedded_texts(self) -> list[str]:
        return embedded_texts(self.folder / "embedded.log")
