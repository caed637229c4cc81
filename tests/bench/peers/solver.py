"""What an exact solver of a global batch is here, and what it starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from packer import MicroBatch, Shape
from score import CROSSOVER

# Workload in integers: a token of linear work is this much.
TOKEN = 1000


@dataclass(frozen=True)
class Problem:
    """The least heaviest micro-batch of all packings within max_length."""

    lengths: Sequence[int]
    shape: Shape
    seconds: float

    def weights(self) -> list[int]:
        """Workload of each document, which adds up within a micro-batch."""
        return [d * d * TOKEN // CROSSOVER + d * TOKEN for d in self.lengths]

    def least(self) -> int:
        """What the heaviest micro-batch weighs at least: a document, or the mean."""
        weights = self.weights()
        return max(*weights, -(-sum(weights) // self.shape.micro_batches))


@dataclass(frozen=True)
class Solution:
    """The best that was found, and what none can be lighter than."""

    packed: list[MicroBatch]
    bound: float
    proven: bool


@dataclass(frozen=True)
class Solver:
    """Somebody's solver. `solve` raises where it finds nothing."""

    name: str
    solve: Callable[[Problem], Solution]


def longest_first(problem: Problem) -> list[int]:
    """A micro-batch for each document, to start from: where there is least work.

    ValueError where a document fits nowhere.
    """
    bins = problem.shape.micro_batches
    weights = problem.weights()
    loads, tokens = [0] * bins, [0] * bins
    chosen = [0] * len(weights)
    for document in sorted(range(len(weights)), key=lambda i: -weights[i]):
        length = problem.lengths[document]
        room = [
            b for b in range(bins) if tokens[b] + length <= problem.shape.max_length
        ]
        if not room:
            raise ValueError(f"document {document}: fits into no micro-batch")
        chosen[document] = min(room, key=lambda b: loads[b])
        loads[chosen[document]] += weights[document]
        tokens[chosen[document]] += length
    return chosen


def heaviest_of(weights: Sequence[int], chosen: Sequence[int], count: int) -> int:
    """The heaviest micro-batch's work, from the micro-batch of each document."""
    loads = [0] * count
    for weight, micro_batch in zip(weights, chosen, strict=True):
        loads[micro_batch] += weight
    return max(loads)


def micro_batches(chosen: Sequence[int], count: int) -> list[MicroBatch]:
    """The documents of each micro-batch, from the micro-batch of each document."""
    packed: list[MicroBatch] = [[] for _ in range(count)]
    for document, micro_batch in enumerate(chosen):
        packed[micro_batch].append(document)
    return packed
