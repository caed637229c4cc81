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
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
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


class _FailingOnce(_Chunks):
    """One whose first reader can't read all."""

    readers = 0

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """Those from `first` on, but for the first reader."""
        self.readers += 1
        first_reader = self.readers == 1
        for number, part in enumerate(super().documents(first)):
            if first_reader and number == 2:
                raise OSError("one failed read")
            yield part


@pytest.mark.parametrize("failing", ["text", "code"])
@pytest.mark.parametrize("merge", ["MERGE_MODE_INTERLEAVE", "MERGE_MODE_ARRIVAL"])
def test_streams_are_merged_the_same_after_a_read_that_failed(
    merge: str, failing: str
) -> None:
    """Whichever stream it was of: the other ranks had no such error."""
    streams = [{"name": "text"}, {"name": "code"}]
    spec = example_jobs.spec(streams=streams, merge=merge)
    lengths = {name: example_jobs.lengths(2900, len(name)) for name in SOURCES}
    lengths["code"] = example_jobs.lengths(2900, 7)
    corpora = {name: _Chunks(column) for name, column in lengths.items()}
    corpora[failing] = _FailingOnce(lengths[failing])
    steps = _steps(spec=spec, lengths=corpora)
    digests: list[bytes] = []
    with pytest.raises(OSError, match="one failed read"):
        digests.extend(step.digest for step in _taken(steps))
    digests += _all(steps)
    assert digests == _all(_steps(spec=spec, lengths=lengths))


@pytest.mark.parametrize("weight", [2, 513, 683])
def test_documents_do_not_pile_up_in_the_job(weight: int) -> None:
    """Each stream is read at the rate at which it is merged."""
    streams = [{"name": "text", "weight": weight}, {"name": "code"}]
    spec = example_jobs.spec(streams=streams, policy={"original": {}})
    lengths = np.full(400_000, 16, np.uint32)
    steps = _steps(spec=spec, lengths=dict.fromkeys(SOURCES, lengths))
    list(islice(_taken(steps), 20))
    early = len(steps.checkpoint(steps.position) or b"")
    list(islice(_taken(steps), 80))
    assert len(steps.checkpoint(steps.position) or b"") < early + 80_000


def test_a_step_of_another_history_has_no_checkpoint() -> None:
    """It would be damaged: of one job, behind a step of another."""
    steps = _steps()
    other = _steps(lengths={name: column[::-1] for name, column in SOURCES.items()})
    mine, others = (list(islice(_taken(each), 3))[-1] for each in (steps, other))
    assert steps.checkpoint(Position.behind(mine))
    with pytest.raises(FailedPreconditionError) as refused:
        steps.checkpoint(Position.behind(others))
    assert refused.value.message == (
        "step: 2 of another history is not accepted; accepted: a step that this "
        "dataset gave"
    )


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


def test_columns_of_other_streams_are_refused() -> None:
    """Whatever names they have."""
    with pytest.raises(InvalidArgumentError, match=r"streams \['1', 'text'\] is not"):
        _steps(lengths={"text": [1], 1: [2]})


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
