"""Megatron-Core's scheduler of hybrid context parallelism."""

from __future__ import annotations

from collections.abc import Sequence

from megatron.core.pipeline_parallel.hybrid_cp_schedule import BalancedCPScheduler
from packer import MicroBatch, Packer, Shape


class RankGroup:
    """As much of a process group as the scheduler asks for."""

    def __init__(self, ranks: int) -> None:
        """A group of `ranks` ranks."""
        self._ranks = ranks

    def size(self) -> int:
        """The number of ranks."""
        return self._ranks


def balance(lengths: Sequence[int], shape: Shape) -> list[MicroBatch]:
    """A micro-batch for each rank: its documents of all groups, one after another."""
    scheduler = BalancedCPScheduler(shape.max_length, RankGroup(shape.micro_batches))
    _, groups = scheduler.get_groups_and_subsamples(list(enumerate(lengths)), None)
    micro_batches: list[MicroBatch] = [[] for _ in range(shape.micro_batches)]
    for group in groups:
        for rank, documents in enumerate(group):
            micro_batches[rank] += documents
    return micro_batches


def packers() -> list[Packer]:
    """Every document on one rank, since none is longer than max_length."""
    return [
        Packer(
            "Megatron-Core, hybrid CP",
            "d^2 of a group",
            balance,
            "a rank runs its documents one by one, so that no cap holds for their sum; "
            "that ranks wait for each other between groups isn't counted",
        )
    ]
