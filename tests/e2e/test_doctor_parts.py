"""What the doctor makes of a machine and an environment that a test describes."""

from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
from counting_embedder import build

from chunk_assets.doctor import embedders, machine, versions
from chunk_assets.doctor.finding import Finding, survive
from chunk_assets.doctor.probe import measure_speed
from chunk_assets.doctor.report import to_json
from chunk_assets.doctor.variables import variable_findings
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.hardware import Gpu
from chunk_assets.errors import ConfigurationError

Usage = namedtuple("Usage", ["total", "used", "free"])


def test_a_look_that_fails_is_a_problem_and_keeps_what_it_found_before() -> None:
    def look() -> Iterator[Finding]:
        yield Finding("a", "first", "ok", "well")
        raise ZeroDivisionError("by zero")

    first, second = survive("a", "b", look)

    assert first.found == "well"
    assert (second.level, second.found) == ("problem", "ZeroDivisionError: by zero")
    assert "report it" in second.remedy


def test_an_error_of_the_users_is_told_as_it_is() -> None:
    def look() -> Iterator[Finding]:
        raise ConfigurationError("no such corpus; name another")
        yield

    [finding] = survive("a", "b", look)
    assert (finding.level, finding.found) == ("problem", "no such corpus; name another")


def test_problems_and_warnings_are_counted() -> None:
    findings = [Finding("a", str(i), "warning", "", "wait") for i in range(2)]
    said = to_json([*findings, Finding("a", "b", "problem", "", "act")])
    assert (said["problems"], said["warnings"], len(said["findings"])) == (1, 2, 3)


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (
            "flags\t\t: fpu avx2 avx512f avx512_bf16 amx_tile",
            ["AVX2", "AVX-512", "AVX512-BF16", "AMX"],
        ),
        ("Features\t: fp asimd i8mm bf16", ["NEON", "I8MM", "BF16"]),
        ("flags\t\t: fpu", []),
        ("processor\t: 0", None),
    ],
)
def test_the_instructions_that_matter_are_named(
    tmp_path: Path, cpuinfo: str, expected: list[str] | None
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(f"processor\t: 0\n{cpuinfo}\n", encoding="ascii")
    assert machine.instructions(file) == expected


def test_a_system_that_says_nothing_of_its_processor_has_unknown_instructions(
    tmp_path: Path,
) -> None:
    assert machine.instructions(tmp_path / "cpuinfo") is None


@pytest.mark.parametrize(
    ("available_gib", "limit", "level", "found"),
    [
        (6, "max", "ok", "6.0 GiB free of 8.0 GiB"),
        (6, None, "ok", "6.0 GiB free of 8.0 GiB"),
        (6, f"{4 * 2**30}", "ok", "this container may take 4.0 GiB"),
        (6, f"{2**30}", "warning", "this container may take 1.0 GiB"),
        (1, "max", "warning", "1.0 GiB free of 8.0 GiB"),
    ],
)
def test_little_memory_is_a_warning(
    tmp_path: Path, available_gib: int, limit: str | None, level: str, found: str
) -> None:
    kib = 2**20
    meminfo = f"MemTotal: {8 * kib} kB\nMemAvailable: {available_gib * kib} kB\n"
    (tmp_path / "meminfo").write_text(meminfo, encoding="ascii")
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit, encoding="ascii")

    [finding] = machine.memory(tmp_path / "meminfo", (tmp_path / "memory.max",))
    assert finding.level == level
    assert found in finding.found


def test_a_system_that_says_nothing_of_its_memory_is_no_problem(tmp_path: Path) -> None:
    [finding] = machine.memory(tmp_path / "meminfo", ())
    assert (finding.level, finding.found) == ("ok", "unknown: this system does not say")


@pytest.mark.parametrize(("free", "level"), [(2**40, "ok"), (2**30, "warning"), (2**20, "problem")])
def test_a_full_disk_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    asked: list[Path] = []

    def disk_usage(path: Path) -> Usage:
        asked.append(path)
        return Usage(2**40, 0, free)

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    finding = machine.disk("storage", tmp_path / "not" / "there" / "yet")

    assert finding.level == level
    assert asked == [tmp_path]


def test_a_gpu_that_torch_was_not_built_for_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "visible_gpus", lambda: (Gpu("0", "NVIDIA H200"),))
    monkeypatch.setattr(machine, "version", lambda _: "2.13.0+cpu")
    monkeypatch.setattr("shutil.which", lambda _: None)
    findings = {finding.name: finding for finding in machine.machine_findings({})}

    assert findings["GPUs"].found == "NVIDIA H200"
    assert findings["torch on GPUs"].level == "warning"
    assert "built without CUDA" in findings["torch on GPUs"].found


def test_the_memory_of_a_gpu_is_told_where_the_driver_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '0, 143771 MiB'\n", encoding="ascii")
    tool.chmod(0o755)
    monkeypatch.setattr(machine, "visible_gpus", lambda: (Gpu("0", "NVIDIA H200"),))
    monkeypatch.setattr(machine, "version", lambda _: "2.13.0+cpu")
    monkeypatch.setattr("shutil.which", lambda _: str(tool))
    findings = {finding.name: finding for finding in machine.machine_findings({})}

    assert findings["GPUs"].found == "NVIDIA H200, 143771 MiB"


def test_a_requirement_that_is_not_met_is_a_problem_with_the_command_that_meets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ["numpy", "numpy<1", "no-such-package>=2", 'other; extra == "dev"']
    monkeypatch.setattr(versions, "requires", lambda _: lines)
    findings = list(versions.version_findings())

    problems = [finding for finding in findings if finding.level == "problem"]
    assert [problem.name for problem in problems] == ["numpy", "no-such-package"]
    assert problems[1].remedy == "pip install 'no-such-package>=2'"
    assert findings[-1].facts == {"met": 1}


def test_what_is_installed_here_is_what_is_required() -> None:
    assert [f for f in versions.version_findings() if f.level != "ok"] == []


@pytest.mark.parametrize(
    ("name", "value", "level", "found"),
    [
        ("OMP_NUM_THREADS", "4", "ok", "4"),
        ("OMP_NUM_THREADS", "4,2", "ok", "4,2"),
        ("OMP_NUM_THREADS", "16", "warning", "16 threads for 4 cores"),
        ("MKL_NUM_THREADS", "1", "warning", "1 of 4 cores"),
        ("OPENBLAS_NUM_THREADS", "many", "warning", "'many' is no number of threads"),
        ("OMP_WAIT_POLICY", "ACTIVE", "warning", "threads that spin"),
        ("OMP_PROC_BIND", "close", "warning", "pinned to the same cores"),
        ("HF_HUB_OFFLINE", "1", "ok", "1"),
        ("HF_TOKEN", "hush", "ok", "set"),
        ("DAGSTER_HOME", "relative", "problem", "is relative"),
        ("HF_HOME", "/dev/null", "problem", "is no folder that can be written"),
        ("HF_HOME", "/no/such/folder", "ok", "/no/such/folder, not there yet"),
    ],
)
def test_a_variable_that_hurts_is_named(name: str, value: str, level: str, found: str) -> None:
    [finding] = variable_findings({name: value}, cores=4)

    assert (finding.name, finding.level) == (name, level)
    assert found in finding.found
    assert bool(finding.remedy) == (level != "ok")


@pytest.mark.parametrize(
    "environment", [{}, {"OMP_WAIT_POLICY": "passive"}, {"OMP_PROC_BIND": "FALSE"}]
)
def test_nothing_is_said_of_what_does_not_hurt(environment: dict[str, str]) -> None:
    assert list(variable_findings(environment, cores=4)) == []


def test_speed_counts_the_tokens_of_whole_batches_and_the_seconds_of_embedding_alone() -> None:
    embedder = build("counting", EmbedderConfig(backend="custom", factory="a:b"))
    seconds = iter(range(100))
    speed = measure_speed(embedder, 2.5, clock=lambda: float(next(seconds)))

    assert speed.seconds == 3
    tokens = speed.tokens / 3 / 32
    assert 150 < tokens <= 200  # a text
    assert speed.tokens_per_s == speed.tokens / 3


def test_a_device_that_is_not_there_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "has_cuda", lambda: False)
    config = EmbedderConfig(device="cuda")
    findings = embedders.embedder_findings("x", config, embed=False, tell=lambda _: None)
    [runs_on] = [finding for finding in findings if finding.name == "runs on"]
    assert runs_on.level == "problem"
    assert "device: auto" in runs_on.remedy


@pytest.mark.parametrize(("backend", "level"), [("auto", "warning"), ("openvino", "problem")])
def test_a_model_that_openvino_cannot_run_is_told(
    monkeypatch: pytest.MonkeyPatch, backend: str, level: str
) -> None:
    monkeypatch.setattr(embedders, "refusal", lambda files: "no such operation")
    config = EmbedderConfig.model_validate({"device": "cpu", "backend": backend})
    findings = embedders.embedder_findings("x", config, embed=False, tell=lambda _: None)
    [told] = [finding for finding in findings if finding.name == "conversion"]
    assert (told.level, "no such operation" in told.found) == (level, True)
