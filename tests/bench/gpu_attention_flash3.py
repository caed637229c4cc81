"""What FlashAttention-3 takes on the slices that gpu_attention_bench measures.

By flash-attn3-jax, which has it for Hopper, both passes and slices of unequal length;
its head size is 128. JSON, an object a line.

    gpu_attention_bench LENGTHS SLICES
    python3 tests/bench/gpu_attention_flash3.py SLICES
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp
import numpy as np
from flash_attn3_jax.varlen_bwd import flash_mha_varlen_bwd
from flash_attn3_jax.varlen_fwd import flash_mha_varlen_fwd

HEAD_SIZE = 128


def timed(call: Callable[[], Any]) -> float:
    """Milliseconds, the mean over as many calls as fit into a short time."""
    for _ in range(3):
        jax.block_until_ready(call())
    begun = time.perf_counter()
    jax.block_until_ready(call())
    calls = max(4, min(40, int(0.05 / (time.perf_counter() - begun))))
    begun = time.perf_counter()
    for _ in range(calls):
        result = call()
    jax.block_until_ready(result)
    return (time.perf_counter() - begun) / calls * 1e3


def cumulated(counts: list[int]) -> jax.Array:
    """From 0 on, as kernels for unequal lengths take them."""
    return jnp.asarray(np.cumsum([0, *counts]), jnp.int32)


def measure(case: dict[str, Any]) -> None:
    """Both passes of a case, on random tensors; keys of each slice apart."""
    slices = case.pop("slices")
    query_heads, kv_heads = (int(each) for each in case["heads"].split(":"))
    queries = [end - begin for begin, end in slices]
    keys = [end for _, end in slices]
    shapes = [(sum(queries), query_heads)] + 2 * [(sum(keys), kv_heads)]
    seeds = jax.random.split(jax.random.PRNGKey(0), 4)
    query, key, value, gradient = (
        jax.random.normal(seed, (*shape, HEAD_SIZE), jnp.bfloat16)
        for seed, shape in zip(seeds, [*shapes, shapes[0]], strict=True)
    )
    lengths = (cumulated(queries), cumulated(keys))
    form = {
        "max_seqlen_q": max(queries),
        "max_seqlen_k": max(keys),
        "is_causal": True,
    }
    forward = jax.jit(partial(flash_mha_varlen_fwd, **form))
    backward = jax.jit(partial(flash_mha_varlen_bwd, **form))
    output, sums = forward(query, key, value, *lengths)
    given = (gradient, query, key, value, output, sums, *lengths)
    pairs = sum((end - begin) * (begin + end + 1) / 2 for begin, end in slices)
    flops = 4 * pairs * HEAD_SIZE * query_heads
    for passes, factor, call in (
        ("forward", 1, lambda: forward(query, key, value, *lengths)),
        ("backward", 2.5, lambda: backward(*given)),
    ):
        ms = timed(call)
        report = {**case, "kernel": "FlashAttention-3", "pass": passes, "ms": ms}
        print(json.dumps({**report, "tflops": factor * flops / ms / 1e9}), flush=True)


def main() -> None:
    """Measures all."""
    for line in Path(sys.argv[1]).read_text().splitlines():
        measure(json.loads(line))


if __name__ == "__main__":
    main()
