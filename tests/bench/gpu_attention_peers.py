"""What PyTorch's own attention takes on slices that gpu_attention_bench measures.

FlashAttention as torch carries it, for slices of unequal length, and cuDNN as
scaled_dot_product_attention has it, for a document that is whole. JSON, an object a
line.

    python3 tests/bench/gpu_attention_peers.py LENGTHS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

HEAD_SIZE = 128
KV_HEADS = 8
Slices = list[tuple[int, int]]


def timed(call: Callable[[], object]) -> float:
    """Milliseconds, the mean over as many calls as fit into a short time."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    call()
    torch.cuda.synchronize()
    calls = max(4, min(40, int(0.05 / (time.perf_counter() - begun))))
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / calls * 1e3


def packed(lengths: list[int], first: int, tokens: int) -> list[int]:
    """Lengths one after another, of which the last is cut."""
    documents: list[int] = []
    while tokens > 0:
        documents.append(min(lengths[(first + len(documents)) % len(lengths)], tokens))
        tokens -= documents[-1]
    return documents


def of_rank(documents: list[int], ranks: int, rank: int) -> Slices:
    """Its slices of each document, which is cut into 2 * ranks, without remainders."""
    slices: Slices = []
    for length in documents:
        size = length // (2 * ranks)
        if size > 0:
            for part in (rank, 2 * ranks - 1 - rank):
                slices.append((part * size, (part + 1) * size))
    return slices


def cumulated(counts: list[int]) -> Tensor:
    """From 0 on, as kernels for unequal lengths take them."""
    sums = torch.tensor([0, *counts]).cumsum(0)
    return sums.to(dtype=torch.int32, device="cuda")


class Peer:
    """Random tensors of some slices; keys of each slice apart."""

    def __init__(self, case: str, slices: Slices, query_heads: int) -> None:
        """On the device."""
        self.report = {"case": case, "heads": f"{query_heads}:{KV_HEADS}"}
        self.slices = slices
        pairs = sum((e - b) * (b + e + 1) / 2 for b, e in slices)
        self.flops = 4 * pairs * HEAD_SIZE * query_heads
        self.query = self._random(sum(e - b for b, e in slices), query_heads)
        self.key = self._random(sum(e for _, e in slices), KV_HEADS)
        self.value = self._random(sum(e for _, e in slices), KV_HEADS)

    @staticmethod
    def _random(rows: int, heads: int) -> Tensor:
        return torch.randn(rows, heads, HEAD_SIZE, device="cuda", dtype=torch.bfloat16)

    def show(self, kernel: str, passes: str, call: Callable[[], object]) -> None:
        """Prints what it takes, or why it can't."""
        of = {**self.report, "kernel": kernel, "pass": passes}
        try:
            ms = timed(call)
        except RuntimeError as error:
            print(json.dumps({**of, "error": str(error).splitlines()[0]}))
            return
        flops = self.flops * (1 if passes == "forward" else 2.5)
        print(json.dumps({**of, "ms": ms, "tflops": flops / ms / 1e9}), flush=True)

    def flash(self) -> None:
        """FlashAttention-2, as torch has it."""
        query_ends = cumulated([e - b for b, e in self.slices])
        key_ends = cumulated([e for _, e in self.slices])
        longest = (
            max(e - b for b, e in self.slices),
            max(e for _, e in self.slices),
        )
        scale = HEAD_SIZE**-0.5
        given = (self.query, self.key, self.value)
        forward = torch.ops.aten._flash_attention_forward
        backward = torch.ops.aten._flash_attention_backward

        def run() -> tuple[Tensor, ...]:
            results: tuple[Tensor, ...] = forward(
                *given, query_ends, key_ends, *longest, 0.0, True, False, scale=scale
            )
            return results

        self.show("FlashAttention-2 of torch", "forward", run)
        output, sums, seed, offset, _ = run()
        gradient = torch.randn_like(output)
        self.show(
            "FlashAttention-2 of torch",
            "backward",
            lambda: backward(
                gradient,
                *given,
                output,
                sums,
                query_ends,
                key_ends,
                *longest,
                0.0,
                True,
                seed,
                offset,
                scale=scale,
            ),
        )

    def whole(self) -> None:
        """CuDNN of a single document."""
        tensors = [
            tensor.unsqueeze(0).transpose(1, 2).detach().requires_grad_()
            for tensor in (self.query, self.key, self.value)
        ]

        def run() -> Tensor:
            return torch.nn.functional.scaled_dot_product_attention(
                *tensors, is_causal=True, enable_gqa=True
            )

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            with torch.no_grad():
                self.show("cuDNN of torch", "forward", run)
            output = run()
            gradient = torch.randn_like(output)
            self.show(
                "cuDNN of torch",
                "backward",
                lambda: torch.autograd.grad(
                    output, tensors, gradient, retain_graph=True
                ),
            )


def main() -> None:
    """Measures all."""
    lengths = [int(line) for line in Path(sys.argv[1]).read_text().split()]
    versions = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}
    print(json.dumps(versions))
    documents = packed(lengths, 40, 131072)
    for query_heads in (32, 64):
        Peer("packed 128K", [(0, n) for n in documents], query_heads).flash()
        cut = of_rank(documents, 8, 3)
        Peer("packed 128K, a rank of CP 8", cut, query_heads).flash()
    Peer("one of 128K, a rank of CP 8", of_rank([131072], 8, 3), 32).flash()
    Peer("one of 32K", [(0, 32768)], 32).flash()
    Peer("one of 32K", [(0, 32768)], 32).whole()


if __name__ == "__main__":
    main()
