"""Attention where a micro-batch is not cut: a group of one rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.native_passes import NativePasses
from evenpack.attention_workers.native_worker import _worker
from evenpack.attention_workers.worker import AttentionWorker, ForwardPass


class LoneWorker(AttentionWorker):
    """A rank that has no peers, so that no step needs to be begun."""

    def __init__(self, threads: int) -> None:
        """With as many threads that compute."""
        super().__init__(cp_rank=0, cp_size=1)
        self._passes = NativePasses(_worker.Alone(threads), 0, 1)

    def begin_step(self, _: int) -> None:
        """Nothing to wait for."""
        self._passes.prepared.clear()

    def end_step(self, _: int) -> None:
        """Nothing to wait for."""

    def abandon_step(self, _: str) -> None:
        """Nobody to tell."""

    def run_forward(
        self,
        micro_batch: MicroBatch,
        form: AttentionForm,
        query: Tensor,
        key: Tensor,
        value: Tensor,
    ) -> ForwardPass:
        """As AttentionWorker."""
        return self._passes.forward(micro_batch, form, query, key, value)

    def run_backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As AttentionWorker."""
        return self._passes.backward(state, saved, gradient)

    def close(self) -> None:
        """Nothing to leave."""


@cache
def lone_worker() -> LoneWorker:
    """The process's own, with as many threads as PyTorch has."""
    return LoneWorker(torch.get_num_threads())
