"""Where the time of our own backend goes."""

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chunk_assets.embedding.batching import by_length, next_batch
from chunk_assets.embedding.hardware import cpu_bfloat16
from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, tokenizer_file
from chunk_assets.embedding.model_files import read_model_files
from chunk_assets.embedding.openvino_backend import OpenVinoEngine
from chunk_assets.embedding.openvino_library import silence_telemetry
from chunk_assets.embedding.openvino_model import converted_model
from chunk_assets.embedding.unit_vectors import defects, normalize


def profile(texts: Sequence[str], model: Path) -> dict[str, float]:
    """Seconds of one thread by what they went into: steps of ours, and kinds of graph nodes."""
    silence_telemetry()
    import openvino

    files = read_model_files(str(model), model)
    graph = openvino.Core().compile_model(
        converted_model(files),
        "CPU",
        {
            "INFERENCE_PRECISION_HINT": "bf16" if cpu_bfloat16() else "f32",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": 1,
            "PERF_COUNT": True,
        },
    )
    request = graph.create_infer_request()
    seconds: defaultdict[str, float] = defaultdict(float)
    tokenizer = HuggingFaceTokenizer(tokenizer_file(files.transformer.folder), "bench")
    tokenizer.count(["load"])
    started = time.perf_counter()
    inputs = tokenizer.model_inputs(texts)
    seconds["tokenizing"] = time.perf_counter() - started
    lengths = [len(ids) for ids in inputs]
    engine = OpenVinoEngine(files, "bfloat16" if cpu_bfloat16() else "float32")
    step = engine.length_step
    padded = [-(-length // step) * step for length in lengths]
    order = by_length(padded)
    done = 0
    while done < len(order):
        started = time.perf_counter()
        batch = next_batch(order, padded, done, engine.batch_tokens)
        ids = np.zeros((len(batch), padded[batch[0]]), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, position in enumerate(batch):
            ids[row, : lengths[position]] = inputs[position]
            mask[row, : lengths[position]] = 1
        seconds["making batches"] += time.perf_counter() - started
        started = time.perf_counter()
        rows = np.array(request.infer([ids, mask, mask], share_inputs=True)[0])
        inferring = time.perf_counter() - started
        nodes = [node for node in request.profiling_info if "EXECUTED" in str(node.status)]
        for node in nodes:
            seconds[f"node {node.node_type}"] += node.real_time.total_seconds()
        inside = sum(node.real_time.total_seconds() for node in nodes)
        seconds["between nodes"] += max(0.0, inferring - inside)
        started = time.perf_counter()
        defects(normalize(rows))
        seconds["normalizing and checking"] += time.perf_counter() - started
        done += len(batch)
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))
