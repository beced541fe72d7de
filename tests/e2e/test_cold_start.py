"""What a process imports: a run that computes nothing waits for no library that computes."""

import json
import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_platform import guide

ROOT = Path(__file__).parents[2]

RUNS_A_MODEL = ("torch", "transformers", "sentence_transformers", "openvino")
"""Seconds of import and hundreds of megabytes, for a vector that nobody asked for."""
COMPUTES = ("scipy", "matplotlib", "pytrec_eval", "sklearn", "pandas")
"""An evaluation computes, and plots; nothing else does."""
READS_DOCUMENTS = ("docutils", "charset_normalizer", "huggingface_hub")
"""A document is parsed and a model fetched where there is a new one."""
PARSES_SQL = ("sqlglot",)
"""The manifest of the SQL models says what they read."""
NEEDS_A_SERVER = ("qdrant_client", "grpc")
"""The embedded store is the default."""

NOTHING_TO_DO = (*RUNS_A_MODEL, *COMPUTES, *READS_DOCUMENTS, *PARSES_SQL, *NEEDS_A_SERVER)
NO_STORE = ("duckdb", "qdrant_edge")
"""Definitions open neither the warehouse nor a collection."""
NO_PLATFORM = ("dagster", "numpy", "pyarrow", "pydantic", "yaml")
"""Help is text."""

QUERIES = {
    # What a search of an embedder needs, its backend's own libraries apart.
    "static": (*RUNS_A_MODEL, *COMPUTES, *PARSES_SQL, *NEEDS_A_SERVER, "dagster", "duckdb"),
    "openvino": ("torch", "transformers", "sentence_transformers", *COMPUTES, "dagster", "duckdb"),
    "torch": ("openvino", "matplotlib", "pytrec_eval", "dagster", "duckdb"),
}
EMBEDDERS: dict[str, dict[str, Any]] = {
    "static": {"backend": "static", "model": "package:wordllama"},
    "openvino": {"backend": "openvino", "threads": 1},
    "torch": {"backend": "torch", "threads": 1, "device": "cpu"},
}

# The exit code is the command's own; what it imported goes to a file.
PROGRAM = """
import json, os, sys
def tell(path=sys.argv.pop(1)):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(sorted(sys.modules), file)
try:
    {statement}
finally:
    tell()
"""
COMMAND = "from chunk_assets.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    """A process that ended."""

    code: int
    out: str
    err: str
    modules: Collection[str]

    def imported(self, *names: str) -> list[str]:
        """Which of these it imported."""
        return [name for name in names if name in self.modules]


def run(statement: str, folder: Path, *arguments: str, config: Path) -> Ended:
    told = folder / "modules.json"
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(statement=statement), str(told), *arguments],
        env=os.environ
        | {
            "CHUNK_ASSETS_CONFIG": str(config),
            "DAGSTER_HOME": str(folder / "dagster"),
            "PYTHONWARNINGS": "ignore",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    modules = json.loads(told.read_text(encoding="utf-8"))
    return Ended(ended.returncode, ended.stdout, ended.stderr, modules)


def test_the_definitions_of_the_demo_import_nothing_that_only_a_run_needs(tmp_path: Path) -> None:
    loaded = run("import chunk_assets.definitions", tmp_path, config=ROOT / "chunk_assets.yaml")

    assert (loaded.code, loaded.err) == (0, "")
    assert loaded.imported("dagster") == ["dagster"]
    assert loaded.imported(*NOTHING_TO_DO, *NO_STORE) == []


def test_help_imports_nothing_of_the_platform(tmp_path: Path) -> None:
    helped = run(COMMAND, tmp_path, "--help", config=ROOT / "chunk_assets.yaml")

    assert helped.code == 0
    assert "apply" in helped.out
    assert helped.imported(*NOTHING_TO_DO, *NO_STORE, *NO_PLATFORM) == []


@dataclass(frozen=True)
class Built:
    """A platform that one process built, vectors and scores included."""

    folder: Path
    config: Path

    def command(self, *arguments: str) -> Ended:
        return run(COMMAND, self.folder, *arguments, config=self.config)


@pytest.fixture(scope="module", params=EMBEDDERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    backend: str = request.param
    if backend == "openvino":
        pytest.importorskip("openvino")
    folder = tmp_path_factory.mktemp(backend)
    (folder / "docs").mkdir()
    for name in ("pump", "boiler"):
        (folder / "docs" / f"{name}.md").write_text(guide(name), encoding="utf-8")
    question = {
        "query_id": "q1",
        "query": "When is the pump ready?",
        "doc_id": "pump.md",
        "quotes": ["After 2 minutes the pump is ready"],
    }
    (folder / "gold.jsonl").write_text(json.dumps(question), encoding="utf-8")
    configuration = {
        "embedders": {backend: EMBEDDERS[backend]},
        "strategies": {"hierarchy": {"chunker": "hierarchy", "max_tokens": 100}},
        "corpora": {
            "guides": {
                "source": {"kind": "files", "root": "docs"},
                "buckets": 1,
                "gold": {"questions": {"path": "gold.jsonl"}},
            }
        },
    }
    (folder / "chunk_assets.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    platform = Built(folder, folder / "chunk_assets.yaml")
    applied = platform.command("apply", "--json")
    assert applied.code == 0, applied.err
    assert json.loads(applied.out)["embeddings"]["embedded"] > 0
    return platform


@pytest.mark.slow
def test_status_of_an_up_to_date_platform_imports_nothing_that_computes(built: Built) -> None:
    status = built.command("status")

    assert status.code == 0, status.out
    assert status.imported(*NOTHING_TO_DO, "duckdb") == []


@pytest.mark.slow
def test_an_apply_that_finds_nothing_to_do_imports_nothing_that_computes(built: Built) -> None:
    applied = built.command("apply", "--json")

    assert applied.code == 0, applied.err
    assert json.loads(applied.out)["runs"] == 0
    assert applied.imported(*NOTHING_TO_DO) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["config", "quarantine", "leaderboard"])
def test_a_command_that_shows_what_is_stored_imports_no_dagster(built: Built, command: str) -> None:
    shown = built.command(command)

    assert shown.code == 0, shown.err
    assert shown.imported(*NOTHING_TO_DO, *NO_STORE, "dagster") == []


@pytest.mark.slow
def test_a_query_in_sql_imports_no_dagster(built: Built) -> None:
    asked = built.command("sql", "select count(*) as chunks from stg_chunks")

    assert asked.code == 0, asked.err
    assert asked.imported(*NOTHING_TO_DO, "dagster", "qdrant_edge") == []


@pytest.mark.slow
def test_a_search_imports_no_library_but_those_of_its_backend(built: Built) -> None:
    found = built.command("search", "When is the pump ready?", "--json")

    assert found.code == 0, found.err
    assert json.loads(found.out)[0]["uri"] == "pump.md"
    [backend] = yaml.safe_load(built.config.read_text(encoding="utf-8"))["embedders"]
    assert found.imported(*QUERIES[backend]) == []
