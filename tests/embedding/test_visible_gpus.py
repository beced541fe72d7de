"""Which GPUs are seen, without a numerical library."""

from pathlib import Path

import pytest

from chunk_assets.embedding import hardware, registry
from chunk_assets.embedding.config import EmbedderConfig
from chunk_assets.embedding.hardware import Gpu, resolve_device, resolve_workers, visible_gpus
from chunk_assets.embedding.registry import describe

INFORMATION = (
    "Model: \t\t {name}\nIRQ:   \t\t 27\nGPU UUID: \t GPU-{minor}\nDevice Minor: \t {minor}\n"
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with two GPUs, as its driver describes them."""
    monkeypatch.setattr(hardware, "_NVIDIA_GPUS", tmp_path / "gpus")
    monkeypatch.setattr(hardware, "_DEVICES", tmp_path / "dev")
    monkeypatch.setattr(hardware, "version", lambda name: "2.13.0+cu130")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "dev").mkdir()
    for minor, name in enumerate(["NVIDIA H200", "NVIDIA L4"]):
        place = tmp_path / "gpus" / f"0000:0{minor}:00.0"
        place.mkdir(parents=True)
        (place / "information").write_text(INFORMATION.format(name=name, minor=minor))
        (tmp_path / "dev" / f"nvidia{minor}").touch()
    (tmp_path / "dev" / "nvidiactl").touch()
    (tmp_path / "dev" / "nvidia-uvm").touch()
    return tmp_path


H200, L4 = Gpu("0", "NVIDIA H200"), Gpu("1", "NVIDIA L4")


def test_all_gpus_are_visible_by_default(machine: Path) -> None:
    assert visible_gpus() == (H200, L4)
    assert resolve_device(EmbedderConfig())[0] == "cuda"


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("", ()),
        ("-1", ()),
        ("1", (L4,)),
        ("1,0", (L4, H200)),
        ("0,-1,1", (H200,)),
        ("0, 5", (H200,)),
        ("GPU-1,MIG-a", (Gpu("GPU-1", "NVIDIA GPU"), Gpu("MIG-a", "NVIDIA GPU"))),
    ],
)
def test_the_environment_hides_and_orders_gpus(
    machine: Path, monkeypatch: pytest.MonkeyPatch, visible: str, expected: tuple[Gpu, ...]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert visible_gpus() == expected
    assert hardware.has_cuda() is bool(expected)


def test_a_container_has_the_gpus_whose_device_files_it_has(machine: Path) -> None:
    (machine / "dev" / "nvidia0").unlink()
    assert visible_gpus() == (Gpu("0", "NVIDIA L4"),)


def test_device_files_alone_will_do(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_NVIDIA_GPUS", machine / "none")
    assert visible_gpus() == (Gpu("0", "NVIDIA GPU"), Gpu("1", "NVIDIA GPU"))


def test_no_driver_is_no_gpu(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_NVIDIA_GPUS", machine / "none")
    monkeypatch.setattr(hardware, "_DEVICES", machine / "none")
    assert visible_gpus() == ()
    assert resolve_device(EmbedderConfig())[0] == "cpu"


def test_a_torch_without_cuda_sees_no_gpu(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "version", lambda name: "2.13.0+cpu")
    assert not hardware.has_cuda()


@pytest.mark.parametrize(
    ("settings", "workers"),
    [
        ({}, (2, "one per visible GPU")),
        ({"device": "cuda"}, (2, "one per visible GPU")),
        ({"device": "cuda:1"}, (1, "one on cuda:1")),
        ({"device": "cpu"}, (1, "one on cpu")),
        ({"device": "cpu", "workers": 3}, (3, "as configured")),
    ],
)
def test_workers_are_one_per_gpu(
    machine: Path, settings: dict[str, object], workers: tuple[int, str]
) -> None:
    assert resolve_workers(EmbedderConfig.model_validate(settings)) == workers


def test_the_choice_names_gpus_and_workers(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "visible_gpus", lambda: (H200, H200, L4))
    choice = describe(EmbedderConfig())
    assert (choice.backend, choice.device, choice.precision) == ("torch", "cuda", "bfloat16")
    assert "GPUs: 2 × NVIDIA H200, 1 × NVIDIA L4" in choice.reasons
    assert "workers: 2, one per visible GPU" in choice.reasons


def test_a_setting_that_only_torch_reads_chooses_torch() -> None:
    choice = describe(EmbedderConfig(device="cpu", workers=2))
    assert choice.backend == "torch"
    assert choice.reasons[0] == "torch: the backend that reads workers"
    assert "workers: 2, as configured" in choice.reasons


@pytest.mark.parametrize(
    ("field", "value"), [("workers", 2), ("most_padding", 0.2), ("compile", True)]
)
def test_other_backends_refuse_what_only_torch_reads(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"{field} \({value}\) is only read by backend 'torch'"):
        EmbedderConfig.model_validate({"backend": "openvino", field: value})
