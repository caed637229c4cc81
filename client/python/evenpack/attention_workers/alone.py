"""Attention where a micro-batch is not cut: a group of one rank."""

from __future__ import annotations

from functools import cache

import torch

from evenpack.attention_workers.in_process import InProcessOptions
from evenpack.attention_workers.native_passes import NativePasses
from evenpack.attention_workers.native_worker import _worker


class LoneWorker(NativePasses):
    """A rank that has no peers, so that no step needs to be begun."""

    def __init__(self, form: _worker.Form) -> None:
        """With what it computes."""
        super().__init__(_worker.Alone(form), form, cp_rank=0, cp_size=1)

    def end_step(self, _: int) -> None:
        """Nothing to wait for."""

    def abandon_step(self, _: str) -> None:
        """Nobody to tell."""

    def close(self) -> None:
        """Nothing to leave."""


@cache
def lone_worker(device: torch.device) -> LoneWorker:
    """The process's own; on the processor with as many threads as PyTorch has."""
    return LoneWorker(InProcessOptions(device=device).form())
