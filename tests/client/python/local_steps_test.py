"""Tests of evenpack.local_steps: what PackedDataset's tests don't show."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import example_jobs
import numpy as np
import pytest
from evenpack import Step
from evenpack.document_columns import Columns, DocumentSource, at_most
from evenpack.errors import InvalidArgumentError
from evenpack.local_steps import LocalSteps
from evenpack.steps import Position
from numpy.typing import NDArray

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


def _taken(steps: LocalSteps) -> Iterator[Step]:
    while (step := steps.next()) is not None:
        steps.taken(Position.behind(step))
        yield step


def _all(steps: LocalSteps) -> list[bytes]:
    return [step.digest for step in _taken(steps)]


class _Chunks:
    """A corpus whose chunks are of 700 from wherever it is read."""

    def __init__(self, lengths: NDArray[np.uint32]) -> None:
        self.lengths = lengths

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """Those from `first` on."""
        return at_most(Columns(self.lengths[first:]), 700)


CORPORA = {name: _Chunks(lengths) for name, lengths in SOURCES.items()}


@pytest.mark.parametrize("sources", [SOURCES, CORPORA])
@pytest.mark.parametrize("merge", ["MERGE_MODE_INTERLEAVE", "MERGE_MODE_ARRIVAL"])
def test_streams_are_merged_the_same_after_a_checkpoint(
    merge: str, sources: DocumentSource
) -> None:
    """At any step, from lengths and from corpora."""
    spec = example_jobs.spec(streams=BLEND, merge=merge)
    undisturbed = _all(_steps(spec=spec))
    for taken in (1, 2, 5, 13, len(undisturbed) - 1):
        steps = _steps(spec=spec, lengths=sources)
        assert len(list(islice(_taken(steps), taken))) == taken
        checkpoint = steps.checkpoint(steps.position)
        resumed = _steps(spec=None, checkpoint=checkpoint, lengths=sources)
        assert resumed.position.next_step == taken
        assert _all(resumed) == undisturbed[taken:]


def test_both_streams_are_all_there() -> None:
    """Whichever ends first."""
    ranks = [_steps(dp_rank=rank) for rank in range(2)]
    seen = sorted(
        document
        for steps in ranks
        for step in _taken(steps)
        for i in range(len(step))
        for document in zip(
            step[i].stream.tolist(), step[i].sequence.tolist(), strict=True
        )
    )
    assert seen == [(0, i) for i in range(3000)] + [(1, i) for i in range(1000)]


def test_a_step_is_given_again_until_it_is_taken() -> None:
    """Who was interrupted before noting it asks again; a checkpoint is of before it."""
    steps = _steps()
    first = list(islice(_taken(steps), 2))[-1]
    before = steps.position
    second = steps.next()
    assert second is not None
    assert second.index == first.index + 1
    assert steps.next() is second
    resumed = _steps(checkpoint=steps.checkpoint(before))
    again = resumed.next()
    assert again is not None
    assert again.digest == second.digest


def test_the_same_shape_begins_no_new_epoch() -> None:
    """A trainer gives its spec at every start."""
    steps = _steps()
    list(islice(_taken(steps), 1))
    again = _steps(checkpoint=steps.checkpoint(steps.position))
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


@pytest.mark.parametrize("more", [SOURCES, CORPORA])
def test_documents_behind_the_end_of_a_stream_are_refused(
    more: dict[str, Any],
) -> None:
    """The checkpoint's job takes none, and would be drained without them."""
    fewer = {name: lengths[:-1] for name, lengths in SOURCES.items()}
    steps = _steps(lengths=fewer)
    last = list(_taken(steps))[-1]
    checkpoint = steps.checkpoint(Position.behind(last))
    assert _all(_steps(spec=None, checkpoint=checkpoint, lengths=fewer)) == []
    with pytest.raises(InvalidArgumentError) as refused:
        _steps(spec=None, checkpoint=checkpoint, lengths=more)
    assert refused.value.message == (
        "lengths: more than 2999 documents of stream 'text' is not accepted; "
        "accepted: 2999, with which the checkpoint has it ended"
    )
