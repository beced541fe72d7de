"""What a device can do at best: measured in the same run as everything else."""

import time
from collections.abc import Callable

import torch

from benchmarks.embed_shapes import Shape


def seconds_of(call: Callable[[], object], device: str, spend: float) -> float:
    """The median time of one call, after a warm-up, over about so many seconds.

    Calls are timed in groups that are long beside the time it takes to wait for the device.
    """
    call()
    _wait(device)
    once = _timed(call, device, 1)
    group = max(1, int(spend / 10 / max(once, 1e-7)))
    times = sorted(_timed(call, device, group) / group for _ in range(9))
    return times[4]


def gemm_flops(device: str, dtype: torch.dtype, size: int, spend: float) -> float:
    """FLOP/s of a product of two square matrices of random numbers."""
    one, other = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = torch.empty(size, size, device=device, dtype=dtype)
    return 2 * size**3 / seconds_of(lambda: torch.mm(one, other, out=out), device, spend)


def copy_bandwidth(device: str, size: int, spend: float) -> float:
    """Bytes per second, read and written, of a copy of so many bytes within the device."""
    source = torch.empty(size, device=device, dtype=torch.uint8).fill_(1)
    target = torch.empty_like(source)
    return 2 * size / seconds_of(lambda: target.copy_(source), device, spend)


def linear_flops(shape: Shape, tokens: int, device: str, dtype: torch.dtype, spend: float) -> float:
    """FLOP/s of the linear layers of one layer of a model on so many tokens, and nothing else."""
    seconds = flops = 0.0
    for inputs, outputs in shape.linear_layers:
        x = torch.randn(tokens, inputs, device=device).to(dtype)
        layer = torch.nn.Linear(inputs, outputs, device=device, dtype=dtype)
        with torch.inference_mode():
            seconds += seconds_of(
                lambda layer=layer, x=x: layer(x),  # type: ignore[misc]
                device,
                spend / len(shape.linear_layers),
            )
        flops += 2 * tokens * inputs * outputs
    return flops / seconds


def _timed(call: Callable[[], object], device: str, times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        call()
    _wait(device)
    return time.perf_counter() - began


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
