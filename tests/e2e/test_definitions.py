"""The asset graph that Dagster loads: reviewing a change of it is reading a diff."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from small_platform import SmallPlatform, guide

from chunk_assets.definitions_factory import build_definitions

SNAPSHOT = Path(__file__).parent / "asset_graph.txt"
REPOSITORY = Path(__file__).parents[2]
HEAVY = ("torch", "sentence_transformers", "transformers", "matplotlib", "scipy", "docutils")


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    folder = tmp_path_factory.mktemp("definitions")
    with dg.DagsterInstance.ephemeral() as instance:
        small = SmallPlatform(folder, instance, corpus={"gold": {"questions": {"path": "q.jsonl"}}})
        return build_definitions(small.platform())


def lines_of(definitions: dg.Definitions) -> Iterator[str]:
    """Everything that decides what runs when, and what of it the UI shows."""
    graph = definitions.resolve_asset_graph()
    for spec in sorted(definitions.resolve_all_asset_specs(), key=lambda spec: spec.key):
        node = graph.get(spec.key)
        if not node.is_executable:
            continue
        yield f"{spec.key.to_user_string()}"
        yield f"  group: {spec.group_name}"
        yield f"  kinds: {', '.join(sorted(spec.kinds))}"
        if spec.code_version is not None:
            yield f"  code version: {spec.code_version}"
        yield f"  partitions: {_partitions(spec.partitions_def)}"
        for dep in sorted(spec.deps, key=lambda dep: dep.asset_key):
            yield f"  reads: {dep.asset_key.to_user_string()} {_mapping(dep.partition_mapping)}"
        for key in sorted(node.check_keys, key=lambda key: key.name):
            check = definitions.resolve_asset_graph().get(key)
            yield f"  check: {key.name}{' (blocking)' if check.blocking else ''}"


def _partitions(definition: dg.PartitionsDefinition[str] | None) -> str:
    if definition is None:
        return "none"
    if isinstance(definition, dg.MultiPartitionsDefinition):
        dimensions = definition.partitions_defs
        return " × ".join(f"{d.name} {_partitions(d.partitions_def)}" for d in dimensions)
    return f"[{', '.join(definition.get_partition_keys())}]"


def _mapping(mapping: dg.PartitionMapping | None) -> str:
    if mapping is None:
        return ""
    if isinstance(mapping, dg.MultiToSingleDimensionPartitionMapping):
        return f"by {mapping.partition_dimension_name}"
    if isinstance(mapping, dg.MultiPartitionMapping):
        pairs = mapping.downstream_mappings_by_upstream_dimension.items()
        return "by " + ", ".join(f"{name} → {pair.dimension_name}" for name, pair in sorted(pairs))
    return {
        "AllPartitionMapping": "all partitions",
        "IdentityPartitionMapping": "same partition",
    }[type(mapping).__name__]


def test_the_asset_graph_is_the_one_that_was_reviewed(definitions: dg.Definitions) -> None:
    now = "\n".join(lines_of(definitions)) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(now, encoding="utf-8")
    assert now == SNAPSHOT.read_text(encoding="utf-8"), (
        "the asset graph changed; if that is meant, run this test with UPDATE_SNAPSHOTS=1 and "
        "commit the file"
    )


def test_every_asset_says_what_a_row_of_it_is(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    specs = [s for s in definitions.resolve_all_asset_specs() if graph.get(s.key).is_executable]
    assert specs
    for spec in specs:
        description = spec.description or ""
        assert description.startswith("A row is "), f"{spec.key}: {description[:80]!r}"


def test_every_check_says_what_must_hold(definitions: dg.Definitions) -> None:
    checks = [
        spec
        for asset in definitions.asset_checks or []
        if isinstance(asset, dg.AssetChecksDefinition)
        for spec in asset.check_specs
    ]
    assert checks
    assert not [spec.key for spec in checks if len(spec.description or "") < 20]


def test_dagster_can_load_the_definitions(definitions: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(definitions)


def test_every_asset_of_two_corpora_bears_the_name_of_its_corpus(small: SmallPlatform) -> None:
    docs = {"source": {"kind": "files", "root": "docs"}}
    small.extra = {"corpora": {"first": docs, "second": {**docs, "buckets": 1}}}
    definitions = build_definitions(small.platform())
    dg.Definitions.validate_loadable(definitions)
    keys = definitions.resolve_asset_graph().executable_asset_keys
    assert {key.path[0] for key in keys} == {"first", "second"}
    first, second = (
        {key.path[1] for key in keys if key.path[0] == name} for name in ("first", "second")
    )
    assert first == second


def loaded_modules(program: str, **environment: str) -> set[str]:
    """The heavy modules that a program has loaded when it ends, in a process of its own."""
    report = f"{program}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    support = REPOSITORY / "tests" / "support"
    done = subprocess.run(
        [sys.executable, "-c", report],
        env=os.environ | {"PYTHONPATH": str(support), "PYTHONWARNINGS": "ignore"} | environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


MINILM: dict[str, Any] = {"embedders": {"minilm": {}}}


def test_loading_the_definitions_loads_no_heavy_library(small: SmallPlatform) -> None:
    small.extra = MINILM
    config = small.configure()
    found = loaded_modules(
        "import chunk_assets.definitions; assert chunk_assets.definitions.defs",
        CHUNK_ASSETS_CONFIG=str(config),
    )
    assert found == set()


APPLY = """
import dagster as dg
from pathlib import Path
from chunk_assets.apply import apply
from chunk_assets.selection import parse_selection
from resources.platform import Platform
from small_platform import NullObserver
platform = Platform.from_file(Path({config!r}))
selection = parse_selection([], platform.corpora)
with dg.DagsterInstance.ephemeral() as instance:
    report = apply(platform, instance, selection, NullObserver())
assert len(report.results) > 7 and not report.failed, report
"""


@pytest.mark.slow
def test_runs_that_embed_nothing_load_no_model(small: SmallPlatform) -> None:
    small.write({"pump.md": guide("pump")})
    small.corpus = {"buckets": 1}
    small.strategies = {"hierarchy": {"chunker": "hierarchy", "max_tokens": 200}}
    small.extra = MINILM
    assert small.apply("guides/hierarchy/b00").totals["embeddings"]["embedded"] > 0
    # Another instance has no record of these runs, so that every stage runs again.
    found = loaded_modules(APPLY.format(config=str(small.config_file)))
    assert not {"torch", "transformers", "sentence_transformers"} & found
