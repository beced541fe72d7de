"""What the cores can multiply: the limit that no embedder passes."""

import time

SIDE = 2048


def gemm_flops_per_second(precision: str, seconds: float = 1.0) -> float:
    """The best rate of products of two square matrices, on all threads of torch.

    torch multiplies bfloat16 with oneDNN. Its float32 is MKL's by default, which is slow on some
    processors, so `medium` lets it take oneDNN's, which is exact all the same without AMX.
    """
    import torch

    dtype = getattr(torch, precision)
    one, other = (torch.randn(SIDE, SIDE).to(dtype) for _ in range(2))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    best, started = 0.0, time.perf_counter()
    try:
        with torch.inference_mode():
            while time.perf_counter() - started < seconds:
                begun = time.perf_counter()
                one @ other
                best = max(best, 2 * SIDE**3 / (time.perf_counter() - begun))
    finally:
        torch.set_float32_matmul_precision(before)
    return best
