"""Whether a run did what it had to, and the same as another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tiny_training.training_run import Outcome

# Relative, of a step's loss.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Comparison:
    """Two runs of the same steps.

    Attributes:
        same_steps: they have the same steps, of the same digests.
        largest_difference: of a step's two losses, relative to the greater; infinite
            where there is but one, or one is no number.
        same_weights: bit for bit, at the end.
    """

    same_steps: bool
    largest_difference: float
    same_weights: bool


def _relative_differences(
    one: dict[int, float], other: dict[int, float]
) -> Iterator[float]:
    """Of each step's two losses; infinite where one is none."""
    for step in one.keys() | other.keys():
        losses = [run.get(step, math.nan) for run in (one, other)]
        difference = abs(losses[0] - losses[1])
        if not math.isfinite(difference):
            yield math.inf
        else:
            # Two losses of 0 are the same.
            yield difference and difference / max(map(abs, losses))


def compare(one: Outcome, other: Outcome) -> Comparison:
    """Step by step."""
    return Comparison(
        same_steps=one.digests == other.digests,
        largest_difference=max(_relative_differences(one.losses, other.losses)),
        same_weights=one.end["weights"] == other.end["weights"],
    )


def undone_difference(outcome: Outcome) -> float:
    """The largest one of a step that was done twice to what it was the first time."""
    again = {step: outcome.losses.get(step, math.nan) for step in outcome.undone}
    return max(_relative_differences(outcome.undone, again), default=0.0)


def failures_of(outcome: Outcome, documents: int) -> list[str]:
    """What is wrong with a run by itself, in words; nothing where it is right."""
    account = outcome.end["account"]
    found = []
    if outcome.pending:
        found.append(
            f"{outcome.pending} never came: it had {len(outcome.losses)} steps"
        )
    if sorted(outcome.losses) != list(range(outcome.end["ended"])):
        found.append(f"steps {sorted(outcome.losses)} of {outcome.end['ended']}")
    for what in ("lost", "repeated"):
        if numbers := account[what]:
            some = ", ".join(map(str, numbers[:5])) + (" ..." if numbers[5:] else "")
            found.append(f"{len(numbers)} documents {what}: {some}")
    if account["seen_once"] != documents:
        found.append(f"{account['seen_once']} of {documents} documents seen once")
    if undone_difference(outcome) > TOLERANCE:
        found.append(f"steps done again differ by {undone_difference(outcome):.1e}")
    return found


def differences_of(comparison: Comparison) -> list[str]:
    """What is wrong with two runs, in words; nothing where they agree."""
    found = []
    if not comparison.same_steps:
        found.append("other steps")
    if comparison.largest_difference > TOLERANCE:
        found.append(
            f"losses differ by {comparison.largest_difference:.1e}, more than "
            f"{TOLERANCE:.0e}"
        )
    return found
