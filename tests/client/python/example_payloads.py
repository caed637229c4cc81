"""Ranks of jobs whose payload travels by value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from evenpack import MicroBatch, PackedDataset, ServerOptions


def dataset(
    address: str, rank: tuple[int, int | None], job: str = "run", *, ahead: bool = True
) -> PackedDataset:
    """Of (dp_rank, cp_rank). Without `ahead`, few steps are fetched beforehand."""
    # One of a data-parallel rank's subscriptions marks its steps.
    options = ServerOptions(sends_durable=rank[1] in (None, 0))
    if not ahead:
        options = replace(options, credits=1, max_buffered_bytes=1)
    return PackedDataset(
        address, job=job, dp_rank=rank[0], cp_rank=rank[1], options=options
    )


def micro_batches(
    steps: PackedDataset, count: int | None = None
) -> Iterator[MicroBatch]:
    """Of so many steps, or all."""
    for step in islice(steps, count):
        yield from step
