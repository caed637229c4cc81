"""What other kernels take on the slices that gpu_attention_bench measures.

FlashAttention as torch carries it, for slices of unequal length; cuDNN as torch's
scaled_dot_product_attention has it, for a document that is whole. JSON, an object a
line.

    gpu_attention_bench LENGTHS SLICES
    python3 tests/bench/gpu_attention_peers.py SLICES
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

HEAD_SIZE = 128
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


def cumulated(counts: list[int]) -> Tensor:
    """From 0 on, as kernels for unequal lengths take them."""
    sums = torch.tensor([0, *counts]).cumsum(0)
    return sums.to(dtype=torch.int32, device="cuda")


class Peer:
    """Random tensors of a case's slices; keys of each slice apart."""

    def __init__(self, case: dict[str, Any]) -> None:
        """On the device."""
        slices: Slices = case.pop("slices")
        self.report = case
        query_heads, self.kv_heads = (int(each) for each in case["heads"].split(":"))
        pairs = sum((e - b) * (b + e + 1) / 2 for b, e in slices)
        self.flops = 4 * pairs * HEAD_SIZE * query_heads
        self.query = self._random(sum(e - b for b, e in slices), query_heads)
        self.key = self._random(sum(e for _, e in slices), self.kv_heads)
        self.value = self._random(sum(e for _, e in slices), self.kv_heads)
        self.ends = (
            cumulated([e - b for b, e in slices]),
            cumulated([e for _, e in slices]),
        )
        self.longest = (max(e - b for b, e in slices), max(e for _, e in slices))

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

    def flash_attention_2(self) -> None:
        """As torch has it."""
        scale = HEAD_SIZE**-0.5
        given = (self.query, self.key, self.value)
        forward = torch.ops.aten._flash_attention_forward
        backward = torch.ops.aten._flash_attention_backward
        lengths = (*self.ends, *self.longest)

        def run() -> tuple[Tensor, ...]:
            results: tuple[Tensor, ...] = forward(
                *given, *lengths, 0.0, True, False, scale=scale
            )
            return results

        name = "FlashAttention-2 of torch"
        self.show(name, "forward", run)
        output, sums, seed, offset, _ = run()
        gradient = torch.randn_like(output)
        results = (gradient, *given, output, sums)
        self.show(
            name,
            "backward",
            lambda: backward(*results, *lengths, 0.0, True, seed, offset, scale=scale),
        )

    def with_gradients(
        self, kernel: str, inputs: list[Tensor], call: Callable[[], Tensor]
    ) -> None:
        """Shows a call, and what autograd does for it."""
        with torch.no_grad():
            self.show(kernel, "forward", call)
        output = call()
        gradient = torch.randn_like(output)
        self.show(
            kernel,
            "backward",
            lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True),
        )

    def cudnn_of_torch(self) -> None:
        """Of a single document."""
        inputs = [
            tensor.unsqueeze(0).transpose(1, 2).detach().requires_grad_()
            for tensor in (self.query, self.key, self.value)
        ]
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            self.with_gradients(
                "cuDNN of torch",
                inputs,
                lambda: torch.nn.functional.scaled_dot_product_attention(
                    *inputs, is_causal=True, enable_gqa=True
                ),
            )


def main() -> None:
    """Measures all."""
    versions = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}
    print(json.dumps(versions))
    for line in Path(sys.argv[1]).read_text().splitlines():
        peer = Peer(json.loads(line))
        if peer.report["cp"] in (1, 8):
            peer.flash_attention_2()
    whole = {"case": "one of 32K", "heads": "32:8", "cp": 1, "slices": [(0, 32768)]}
    Peer(whole).cudnn_of_torch()


if __name__ == "__main__":
    main()
