"""Context-parallel plans of the same micro-batches, by the ranks' attended pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# What every planner can take: lengths that 2 x 16 ranks divide.
MULTIPLE = 32


@dataclass(frozen=True)
class Planner:
    """Somebody's planner. `plan` alone is timed.

    `prepare` makes its argument from the lengths of a micro-batch's documents; `plan`
    gets that and the number of ranks and returns the micro-batch's tokens in an order
    of which each rank takes an equal run; `read` makes a list of that.
    """

    name: str
    prepare: Callable[[Sequence[int]], Any]
    plan: Callable[[Any, int], Any]
    read: Callable[[Any], list[int]]
    note: str = ""


@dataclass(frozen=True)
class PlanScore:
    """Imbalance is max / mean of the ranks' attended pairs; `worst` of one plan."""

    imbalance: float
    worst: float
    ms: float


def even_micro_batches(
    lengths: Sequence[int], window: int, count: int
) -> list[list[int]]:
    """Documents in order, rounded up to MULTIPLE and cut where `window` is full."""
    micro_batches: list[list[int]] = []
    current: list[int] = []
    room = window
    for length in lengths:
        rest = -(-length // MULTIPLE) * MULTIPLE
        while rest > 0 and len(micro_batches) < count:
            piece = min(rest, room)
            current.append(piece)
            rest -= piece
            room -= piece
            if room == 0:
                micro_batches.append(current)
                current, room = [], window
    return micro_batches


def pairs_by_rank(
    lengths: Sequence[int], order: Sequence[int], ranks: int
) -> list[int]:
    """Attended pairs of each rank's run of `order`.

    A token attends to those of its document up to itself. ValueError where the order is
    not one of all tokens, or doesn't divide.
    """
    pairs = [i for length in lengths for i in range(1, length + 1)]
    if sorted(order) != list(range(len(pairs))) or len(order) % ranks != 0:
        raise ValueError(f"not an order of {len(pairs)} tokens for {ranks} ranks")
    run = len(order) // ranks
    return [
        sum(map(pairs.__getitem__, order[rank * run : (rank + 1) * run]))
        for rank in range(ranks)
    ]


def score_pairs(pairs: Sequence[Sequence[int]], milliseconds: float) -> PlanScore:
    """The score of a planner from the ranks' pairs in each of its plans."""
    imbalance = [max(ranks) * len(ranks) / sum(ranks) for ranks in pairs]
    return PlanScore(sum(imbalance) / len(imbalance), max(imbalance), milliseconds)
