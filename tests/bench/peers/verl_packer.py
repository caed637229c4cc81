"""verl's partitions by the Karmarkar-Karp differencing method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from packer import MicroBatch, Packer, Shape
from score import CROSSOVER
from verl.utils.seqlen_balancing import (
    calculate_workload,
    get_seqlen_balanced_partitions,
)

NO_CAP = "no cap; needs a document for each micro-batch"


def partitions_by(
    weights: Callable[[Sequence[int]], list[int]],
) -> Callable[[Sequence[int], Shape], list[MicroBatch]]:
    """Packs by what `weights` makes of the lengths."""

    def pack(lengths: Sequence[int], shape: Shape) -> list[MicroBatch]:
        partitions: list[MicroBatch] = get_seqlen_balanced_partitions(
            weights(lengths), shape.micro_batches, equal_size=False
        )
        return partitions

    return pack


def own_workload(lengths: Sequence[int]) -> list[int]:
    """As verl's micro-batches are balanced."""
    workloads: list[int] = calculate_workload(torch.tensor(lengths)).tolist()
    return workloads


def packers() -> list[Packer]:
    """By tokens, by verl's workload, and by the one that scores."""
    return [
        Packer("verl, tokens", "tokens", partitions_by(list), NO_CAP),
        Packer(
            "verl, its workload", "d^2 + 24,576 d", partitions_by(own_workload), NO_CAP
        ),
        Packer(
            "verl, our workload",
            "d^2 + 47,000 d",
            partitions_by(lambda lengths: [d * d + CROSSOVER * d for d in lengths]),
            NO_CAP,
        ),
    ]
