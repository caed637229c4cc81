"""The arms of the study: the ways in which a stream of documents becomes steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from evenpack import Documents, PackedDataset
from numpy.typing import NDArray

# A step: micro-batches, each the documents in it, as places in the stream.
Steps = list[list[NDArray[np.int64]]]


@dataclass(frozen=True)
class Shape:
    """What a step is.

    Attributes:
        context: L, tokens of a micro-batch, and of the longest document.
        micro_batches: N, of a step.
        crossover: the length at which attention costs as much as everything else, in
            tokens: the engine weighs documents by it.
    """

    context: int
    micro_batches: int
    crossover: int

    @property
    def batch(self) -> int:
        """Tokens of a global batch."""
        return self.context * self.micro_batches


@dataclass(frozen=True)
class Arm:
    """One way.

    Attributes:
        name: in results and figures.
        policy: the engine's, None where documents are not packed.
        thresholds: of wlb's queues, as parts of L.
        steps_of: without a policy: the arm that has as many steps; None: as many as
            make N x L tokens on average.
        same_sizes: whether each of these has as many tokens as that arm's, too, rather
            than all alike.
    """

    name: str
    policy: dict[str, Any] | None = None
    thresholds: tuple[float, ...] = ()
    steps_of: str | None = None
    same_sizes: bool = False


BASELINE = "unpacked"
ARMS = (
    Arm(BASELINE),
    Arm("unpacked_as_original", steps_of="original"),
    Arm("unpacked_as_wlb", steps_of="wlb_1"),
    Arm("original", {"original": {}}),
    Arm("fixed_greedy_1", {"fixed_greedy": {"window_batches": 1}}),
    Arm("fixed_greedy_8", {"fixed_greedy": {"window_batches": 8}}),
    Arm("wlb_1", {"wlb": {}}, (3 / 8,)),
    Arm("wlb_2", {"wlb": {}}, (3 / 8, 3 / 4)),
    Arm("wlb_3", {"wlb": {}}, (3 / 8, 1 / 2, 3 / 4)),
    Arm("unpacked_sizes_of_wlb", steps_of="wlb_3", same_sizes=True),
)


def arm_named(name: str) -> Arm:
    """The arm of that name.

    Raises:
        ValueError: there is none.
    """
    for arm in ARMS:
        if arm.name == name:
            return arm
    accepted = ", ".join(arm.name for arm in ARMS)
    raise ValueError(f"arm: {name} is not accepted; accepted: {accepted}")


def specification(arm: Arm, shape: Shape) -> dict[str, Any]:
    """The fields of an evenpack.v1.JobSpec, for an arm that has a policy."""
    assert arm.policy is not None
    (name, options), *_ = arm.policy.items()
    longest = shape.context
    if name == "wlb":
        cuts = [int(part * shape.context) for part in arm.thresholds]
        options = {"queue_thresholds": cuts}
        longest = shape.context * 3 // 2
    return {
        "streams": [{"name": "text"}],
        "window": shape.context,
        "max_length": longest,
        "parallelism": {"micro_batches_per_rank": shape.micro_batches},
        "policy": {name: options},
        "cost": {"quadratic": {"crossover_tokens": shape.crossover}},
    }


def _packed(arm: Arm, shape: Shape, lengths: NDArray[np.int64]) -> Steps:
    # Nothing predicts a document's first token.
    documents = Documents(lengths, loss_tokens=lengths - 1)
    dataset = PackedDataset(spec=specification(arm, shape), lengths={"text": documents})
    steps = []
    for step in dataset:
        if any(int(m.offset.max(initial=0)) != 0 for m in step):
            raise ValueError(f"{arm.name}: step {step.index} cuts a document")
        steps.append([m.sequence.astype(np.int64) for m in step if m.documents > 0])
    return steps


def _cut(
    places: NDArray[np.int64], lengths: NDArray[np.int64], ends: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Documents in order, cut where each part of their tokens ends; none empty.

    A document belongs to the part in which its middle token is.
    """
    tokens = lengths[places]
    middles = np.cumsum(tokens) - tokens / 2
    part = np.searchsorted(ends, middles / tokens.sum(), side="right")
    return np.split(places, np.flatnonzero(np.diff(part)) + 1)


def _even(parts: int) -> NDArray[np.float64]:
    return np.arange(1, parts + 1) / parts


def _unpacked(
    shape: Shape, lengths: NDArray[np.int64], ends: NDArray[np.float64]
) -> Steps:
    """Documents in the order of the stream, each a sequence of its own.

    Within a step they are computed some at a time, on which no result depends.
    """
    steps = []
    for step in _cut(np.arange(len(lengths)), lengths, ends):
        rows = max(1, round(int(lengths[step].sum()) / shape.context))
        steps.append(_cut(step, lengths, _even(rows)))
    return steps


def steps_of(arm: Arm, shape: Shape, lengths: NDArray[np.int64]) -> Steps:
    """The steps that an arm makes of a stream.

    Args:
        arm: which.
        shape: of a step.
        lengths: tokens of the stream's documents, none above shape.context.
    """
    if arm.policy is not None:
        return _packed(arm, shape, lengths)
    if arm.steps_of is None:
        ends = _even(max(1, round(int(lengths.sum()) / shape.batch)))
        return _unpacked(shape, lengths, ends)
    other = steps_of(arm_named(arm.steps_of), shape, lengths)
    if not arm.same_sizes:
        return _unpacked(shape, lengths, _even(len(other)))
    sizes = [sum(int(lengths[m].sum()) for m in step) for step in other]
    return _unpacked(shape, lengths, np.cumsum(sizes) / sum(sizes))


def displacement(steps: Steps, lengths: NDArray[np.int64]) -> float:
    """How far documents are from where the stream has them, in steps.

    Mean over tokens of the distance between the middle of the step a token is in and
    its own place in the stream, both as parts of all tokens, times the steps: 0.25 for
    documents in order, since a place within a step is up to half a step from its
    middle.
    """
    ends = np.cumsum([sum(int(lengths[m].sum()) for m in step) for step in steps])
    middles = (ends + np.append(0, ends[:-1])) / 2
    came = np.zeros(len(lengths))
    for middle, step in zip(middles.tolist(), steps, strict=True):
        came[np.concatenate(step)] = middle
    stood = np.cumsum(lengths) - lengths / 2
    mean = np.average(np.abs(came - stood), weights=lengths)
    return float(mean * len(steps) / lengths.sum())
