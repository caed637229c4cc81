"""Attention where a micro-batch is not cut: a group of one rank."""

from __future__ import annotations

import os
import threading

import torch

from evenpack.attention_workers.in_process import InProcessOptions
from evenpack.attention_workers.native_passes import NativePasses
from evenpack.attention_workers.native_worker import _worker


class LoneWorker(NativePasses):
    """A rank that has no peers, so that no step needs to be begun. Thread-safe."""

    def __init__(self, form: _worker.Form) -> None:
        """With what it computes."""
        super().__init__(_worker.Alone(form), form, cp_rank=0, cp_size=1)

    def end_step(self, _: int) -> None:
        """Nothing to wait for."""

    def abandon_step(self, _: str) -> None:
        """Nobody to tell."""

    def close(self) -> None:
        """Nothing to leave."""


_lone: dict[torch.device, LoneWorker] = {}
_making = threading.Lock()


def _forget() -> None:
    """In a fork, which has none of the workers' threads, and a lock as it then was."""
    global _making
    _lone.clear()
    _making = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def lone_worker(device: torch.device) -> LoneWorker:
    """The process's own; on the processor with as many threads as PyTorch has."""
    with _making:
        found = _lone.get(device)
        if found is None:
            found = LoneWorker(InProcessOptions(device=device).form())
            _lone[device] = found
        return found
