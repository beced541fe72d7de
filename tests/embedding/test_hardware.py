"""What is read of the machine."""

import os
from pathlib import Path

import pytest

from chunk_assets.embedding import hardware
from chunk_assets.embedding.config import EmbedderConfig


@pytest.fixture
def cpuinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(hardware, "_CPUINFO", path)
    return path


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu avx2 avx512f avx512_bf16 fma", "AVX512-BF16"),
        ("fpu avx512f amx_tile amx_bf16", "AMX-BF16"),
        ("fpu avx2 avx512f avx512_vnni", None),
    ],
)
def test_bfloat16_is_read_from_the_processors_flags(
    cpuinfo: Path, flags: str, expected: str | None
) -> None:
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\n", encoding="ascii")
    assert hardware.cpu_bfloat16() == expected


def test_an_unknown_processor_has_no_bfloat16(cpuinfo: Path) -> None:
    assert not cpuinfo.exists()
    assert hardware.cpu_bfloat16() is None


def test_auto_precision_follows_the_processor(cpuinfo: Path) -> None:
    config = EmbedderConfig(device="cpu")
    cpuinfo.write_text("flags : avx512_bf16\n", encoding="ascii")
    assert hardware.resolve_precision(config) == ("bfloat16", "the processor has AVX512-BF16")
    cpuinfo.write_text("flags : avx2\n", encoding="ascii")
    assert hardware.resolve_precision(config)[0] == "float32"


def test_a_named_precision_is_kept(cpuinfo: Path) -> None:
    cpuinfo.write_text("flags : avx512_bf16\n", encoding="ascii")
    assert hardware.resolve_precision(EmbedderConfig(precision="float32"))[0] == "float32"


def test_hidden_gpus_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert hardware.resolve_device(EmbedderConfig())[0] == "cpu"


def test_cores_are_those_of_the_affinity() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert hardware.available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(("limit", "cores"), [("50000 100000", 1), ("100000 100000", 1)])
def test_cores_are_bounded_by_a_containers_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, cores: int
) -> None:
    (tmp_path / "cpu.max").write_text(limit, encoding="ascii")
    monkeypatch.setattr(hardware, "_CGROUP_LIMIT", tmp_path / "cpu.max")
    assert hardware.available_cores() == cores
