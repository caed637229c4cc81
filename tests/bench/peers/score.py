"""One yardstick for every packer's micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packer import MicroBatch, Shape

# The length at which a document's attention costs as much as all that is linear in its
# tokens: WLB-LLM's 7B model (docs/cost-models.md).
CROSSOVER = 47_000

# As evenpackctl counts: of more than LEAST_STEPS_FOR_WARM_UP steps the first WARM_UP
# are left out, in which a packer with queues fills them.
WARM_UP = 50
LEAST_STEPS_FOR_WARM_UP = 100


def workload(lengths: Sequence[int]) -> float:
    """W of a micro-batch of documents of these lengths, in tokens of linear work."""
    return sum(length * length / CROSSOVER + length for length in lengths)


@dataclass(frozen=True)
class Score:
    """What came out of a packer. Imbalance 1: the micro-batches of a step are equal."""

    steps: int
    micro_batches: int
    # Mean over steps of max / mean; sum of max over sum of mean. None without a step.
    imbalance: float | None
    weighted: float | None
    # Share of the tokens that are beyond max_length in their micro-batch.
    over: float
    # Tokens over micro-batches x window: more than 1 where micro-batches outgrow it.
    fill: float
    # Documents that are in no micro-batch.
    dropped: int


def check_documents(packed: Sequence[MicroBatch], documents: int) -> int:
    """How many documents are missing. ValueError: one is there twice, or unknown."""
    seen: set[int] = set()
    for micro_batch in packed:
        for document in micro_batch:
            if document in seen or not 0 <= document < documents:
                raise ValueError(
                    f"document {document}: each of the {documents} at most once"
                )
            seen.add(document)
    return documents - len(seen)


def steps_of(loads: Sequence[float], micro_batches: int) -> list[Sequence[float]]:
    """Consecutive groups of `micro_batches`; a last one that isn't full is no step."""
    whole = len(loads) // micro_batches * micro_batches
    return [loads[i : i + micro_batches] for i in range(0, whole, micro_batches)]


def imbalance_of(steps: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Mean of max / mean, and sum of max over sum of mean; None without a step."""
    if not steps:
        return None
    largest = [max(loads) for loads in steps]
    mean = [sum(loads) / len(loads) for loads in steps]
    ratios = [high / middle for high, middle in zip(largest, mean, strict=True)]
    return sum(ratios) / len(ratios), sum(largest) / sum(mean)


def score(
    calls: Sequence[tuple[Sequence[int], Sequence[MicroBatch]]], shape: Shape
) -> Score:
    """The score of a packer's calls: lengths that it got, micro-batches it made."""
    packed = [
        [lengths[document] for document in micro_batch]
        for lengths, micro_batches in calls
        for micro_batch in micro_batches
    ]
    dropped = sum(
        check_documents(micro_batches, len(lengths)) for lengths, micro_batches in calls
    )
    sums = [sum(lengths) for lengths in packed]
    tokens = sum(sums)
    steps = steps_of([workload(lengths) for lengths in packed], shape.micro_batches)
    measured = steps[WARM_UP:] if len(steps) > LEAST_STEPS_FOR_WARM_UP else steps
    imbalance = imbalance_of(measured)
    return Score(
        steps=len(steps),
        micro_batches=len(packed),
        imbalance=None if imbalance is None else imbalance[0],
        weighted=None if imbalance is None else imbalance[1],
        over=sum(max(0, each - shape.max_length) for each in sums) / tokens,
        fill=tokens / (len(packed) * shape.window),
        dropped=dropped,
    )
