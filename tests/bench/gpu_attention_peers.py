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
from collections.abc import Callable

import torch
from gpu_attention_cases import HEAD_SIZE, Case, cases_in, timed
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel


def cumulated(counts: list[int]) -> Tensor:
    """From 0 on, as kernels for unequal lengths take them."""
    sums = torch.tensor([0, *counts]).cumsum(0)
    return sums.to(dtype=torch.int32, device="cuda")


class Peer:
    """Random tensors of a case's slices; keys of each slice apart."""

    def __init__(self, case: Case) -> None:
        """On the device."""
        self.case = case
        query_heads, kv_heads = case.heads
        self.query = self._random(sum(case.queries), query_heads)
        self.key = self._random(sum(case.keys), kv_heads)
        self.value = self._random(sum(case.keys), kv_heads)
        self.ends = (cumulated(case.queries), cumulated(case.keys))
        self.longest = (max(case.queries), max(case.keys))

    @staticmethod
    def _random(rows: int, heads: int) -> Tensor:
        return torch.randn(rows, heads, HEAD_SIZE, device="cuda", dtype=torch.bfloat16)

    def show(self, kernel: str, passes: str, call: Callable[[], object]) -> None:
        """Prints what it takes, or why it can't."""
        try:
            ms = timed(call, lambda _: torch.cuda.synchronize())
        except RuntimeError as error:
            why = {"pass": passes, "error": str(error).splitlines()[0]}
            print(json.dumps({**self.case.report, "kernel": kernel, **why}))
            return
        self.case.show(kernel, passes, ms)

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
    for case in cases_in(sys.argv[1]):
        if case.report["cp"] in (1, 8):
            Peer(case).flash_attention_2()
    whole = {"case": "one of 32K", "heads": "32:8", "cp": 1}
    Peer(Case(whole, [(0, 32768)])).cudnn_of_torch()


if __name__ == "__main__":
    main()
