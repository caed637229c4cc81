"""Tests of evenpack.local_steps: what PackedDataset's tests don't show."""

from __future__ import annotations

from typing import Any

import example_jobs
import pytest
from evenpack.errors import InvalidArgumentError
from evenpack.local_steps import LocalSteps

BLEND = [{"name": "text", "weight": 3}, {"name": "code", "weight": 1}]
SOURCES = {"text": example_jobs.lengths(3000), "code": example_jobs.lengths(1000, 2)}


def _steps(**changes: object) -> LocalSteps:
    given: dict[str, Any] = {
        "spec": example_jobs.spec(streams=BLEND),
        "checkpoint": None,
        "lengths": SOURCES,
        "dp_rank": 0,
        "cp_rank": None,
    }
    return LocalSteps(**(given | changes))


def _all(steps: LocalSteps) -> list[bytes]:
    return [step.digest for step in iter(steps.next, None)]


@pytest.mark.parametrize("merge", ["MERGE_MODE_INTERLEAVE", "MERGE_MODE_ARRIVAL"])
def test_streams_are_merged_the_same_after_a_checkpoint(merge: str) -> None:
    """At any step."""
    spec = example_jobs.spec(streams=BLEND, merge=merge)
    undisturbed = _all(_steps(spec=spec))
    for taken in (1, 2, 5, 13, len(undisturbed) - 1):
        steps = _steps(spec=spec)
        for _ in range(taken):
            assert steps.next() is not None
        checkpoint = steps.checkpoint()
        resumed = _steps(spec=None, checkpoint=checkpoint)
        assert resumed.position.next_step == taken
        assert _all(resumed) == undisturbed[taken:]


def test_both_streams_are_all_there() -> None:
    """Whichever ends first."""
    ranks = [_steps(dp_rank=rank) for rank in range(2)]
    seen = sorted(
        document
        for steps in ranks
        for step in iter(steps.next, None)
        for i in range(len(step))
        for document in zip(
            step[i].stream.tolist(), step[i].sequence.tolist(), strict=True
        )
    )
    assert seen == [(0, i) for i in range(3000)] + [(1, i) for i in range(1000)]


def test_a_checkpoint_of_before_the_first_step_is_none() -> None:
    """There is nothing to go on from."""
    assert _steps().checkpoint() is None


def test_the_same_shape_begins_no_new_epoch() -> None:
    """A trainer gives its spec at every start."""
    steps = _steps()
    steps.next()
    again = _steps(checkpoint=steps.checkpoint())
    assert again.position.epoch == 0


def test_one_column_for_two_streams_is_refused() -> None:
    """Which would it be of."""
    with pytest.raises(InvalidArgumentError, match="text, code"):
        _steps(lengths=[1, 2, 3])


def test_a_cost_profile_by_name_is_refused() -> None:
    """Only a server keeps profiles."""
    spec = example_jobs.spec(streams=BLEND, cost={"profile": "h100"})
    with pytest.raises(LookupError, match="h100"):
        _steps(spec=spec)
