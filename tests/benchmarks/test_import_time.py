"""The benchmark of cold starts: what it reads and what it says."""

import subprocess
import sys

import pytest

from benchmarks.import_time import measure_first_vectors, measure_imports
from benchmarks.import_time_report import Dear, FirstVector, Measured, ratio, report
from benchmarks.import_tree import Import, foreign, own_time_us, parse

PRINTED = """\
import time: self [us] | cumulative | imported package
import time:       100 |        100 |     numpy.core
import time:        50 |        150 |   numpy
some other line
import time:        30 |         30 |     ours.part
import time:         5 |          5 |       yaml
import time:        10 |         15 |     ours.config
import time:        20 |        215 | ours
import time:         7 |          7 | site
"""


def test_each_import_knows_who_made_it() -> None:
    assert parse(PRINTED) == [
        Import("numpy.core", 100, 100, "numpy"),
        Import("numpy", 50, 150, "ours"),
        Import("ours.part", 30, 30, "ours"),
        Import("yaml", 5, 5, "ours.config"),
        Import("ours.config", 10, 15, "ours"),
        Import("ours", 20, 215, None),
        Import("site", 7, 7, None),
    ]


def test_imports_of_other_packages_are_told_from_those_below_them_and_from_our_own() -> None:
    imports = parse(PRINTED)
    assert [each.name for each in foreign(imports, ("ours",))] == ["numpy", "yaml"]
    assert own_time_us(imports, ("ours",)) == 60


def test_what_python_prints_is_read_without_loss() -> None:
    printed = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import json.tool"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    imports = {each.name: each for each in parse(printed)}

    assert imports["json.decoder"].by == "json"
    below = sum(each.subtree_us for each in imports.values() if each.by == "json")
    assert below + imports["json"].own_us == pytest.approx(imports["json"].subtree_us, abs=10)


def test_the_ratio_is_the_median_of_those_of_single_rounds() -> None:
    floor = Measured("import a", (1, 1, 1), (1.0, 2.0, 4.0))
    measured = Measured("import b", (1, 1, 1), (3.0, 4.0, 40.0))
    assert ratio([floor, measured], "import a", "import b") == 3.0


def test_the_page_holds_every_figure() -> None:
    page = report(
        [Measured("import a", (1.0,), (0.5,)), Measured("import b", (1.5,), (1.0,))],
        "import a",
        "import b",
        [Dear("numpy", "ours", 0.125)],
        [FirstVector("static", 2.25, (0.5, 0.75, 0.25), (0.4, 0.6, 0.2))],
        {"openvino": "it is not installed"},
        {"rounds": 1},
    )
    assert "| `import b` | 1.50 | 1.00 | 2.00 |" in page
    assert "| `numpy` | `ours` | 0.125 |" in page
    assert "| static | 0.50 | 0.25 | 0.40 | 2.25 |" in page
    assert "Left out: openvino: it is not installed" in page


@pytest.mark.slow
def test_statements_are_measured_in_processes_of_their_own() -> None:
    measured = {each.statement: each for each in measure_imports(rounds=1)}

    assert set(measured) >= {"import dagster", "import chunk_assets.definitions"}
    assert all(len(each.cpu_s) == 1 and each.cpu_s[0] > 0 for each in measured.values())


@pytest.mark.slow
def test_a_backend_that_fails_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    models = {"static": {"model": "package:wordllama"}, "gone": {"model": "package:no_such_model"}}
    monkeypatch.setattr("benchmarks.import_time.MODELS", models)
    vectors, skipped = measure_first_vectors(rounds=1)

    assert [each.backend for each in vectors] == ["static"]
    assert "no Python package 'no_such_model'" in skipped["gone"]
