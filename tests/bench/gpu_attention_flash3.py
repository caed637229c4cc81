"""What FlashAttention-3 takes on the slices that gpu_attention_bench measures.

By flash-attn3-jax, which has it for Hopper, both passes and slices of unequal length;
its head size is 128. JSON, an object a line.

    gpu_attention_bench LENGTHS SLICES
    python3 tests/bench/gpu_attention_flash3.py SLICES
"""

from __future__ import annotations

import os
import sys
from functools import partial

from gpu_attention_cases import HEAD_SIZE, Case, cases_in, timed

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp
import numpy as np
from flash_attn3_jax.varlen_bwd import flash_mha_varlen_bwd
from flash_attn3_jax.varlen_fwd import flash_mha_varlen_fwd


def cumulated(counts: list[int]) -> jax.Array:
    """From 0 on, as kernels for unequal lengths take them."""
    return jnp.asarray(np.cumsum([0, *counts]), jnp.int32)


def measure(case: Case) -> None:
    """Both passes of a case, on random tensors; keys of each slice apart."""
    query_heads, kv_heads = case.heads
    queries, keys = case.queries, case.keys
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
    for passes, call in (
        ("forward", lambda: forward(query, key, value, *lengths)),
        ("backward", lambda: backward(*given)),
    ):
        case.show("FlashAttention-3", passes, timed(call, jax.block_until_ready))


def main() -> None:
    """Measures all."""
    for case in cases_in(sys.argv[1]):
        measure(case)


if __name__ == "__main__":
    main()
