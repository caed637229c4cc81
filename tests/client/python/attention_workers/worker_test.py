"""A step's attempts, over a worker that does as it is told."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import example_attention
import pytest
import torch
from evenpack import MicroBatch
from evenpack.attention_workers import AttentionForm, AttentionWorker
from evenpack.attention_workers.worker import ForwardPass
from evenpack.errors import AbortedError, FailedPreconditionError, UnavailableError
from evenpack.sharded_attention import attention
from torch import Tensor


class ScriptedWorker(AttentionWorker):
    """Raises what it is given, call by call, and remembers what it was asked."""

    def __init__(self, **raises: Sequence[Exception | None]) -> None:
        """By method."""
        super().__init__(cp_rank=0, cp_size=2, device=torch.device("cpu"))
        self._raises = {name: list(errors) for name, errors in raises.items()}
        self.calls: list[str] = []

    def _do(self, name: str, what: object = "") -> None:
        self.calls.append(f"{name} {what}".strip())
        script = self._raises.get(name)
        if script and (error := script.pop(0)) is not None:
            raise error

    def begin_step(self, step: int) -> None:
        self._do("begin", step)

    def end_step(self, step: int) -> None:
        self._do("end", step)

    def abandon_step(self, why: str) -> None:
        self._do("abandon", why)

    def run_forward(
        self,
        _micro_batch: MicroBatch,
        _form: AttentionForm,
        query: Tensor,
        *_: Tensor,
    ) -> ForwardPass:
        self._do("forward")
        return ForwardPass(query.clone(), (query,), "state")

    def run_backward(
        self, state: object, _: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        assert state == "state"
        self._do("backward")
        return gradient, gradient, gradient

    def close(self) -> None:
        self._do("close")


def train(worker: AttentionWorker, step: int = 7) -> None:
    """One layer of a step."""
    (micro_batch, *_) = example_attention.steps(2, 1)[0]
    for attempt in worker.attempts(step):
        with attempt:
            assert worker.step == step
            form = AttentionForm(torch.float32, 2, 2, 64)
            given = torch.zeros(3, 2, 64)
            done = worker.forward(micro_batch, form, given, given, given)
            worker.backward(done.state, done.saved, given)


ONCE = ["begin 7", "forward", "backward", "end 7"]
LOST = AbortedError("a peer was lost")


@pytest.mark.parametrize(
    ("raises", "calls"),
    [
        ({}, ONCE),
        ({"begin": [LOST, LOST, None]}, ["begin 7", "begin 7", *ONCE]),
        ({"forward": [LOST, None]}, ["begin 7", "forward", *ONCE]),
        ({"backward": [LOST, None]}, ["begin 7", "forward", "backward", *ONCE]),
        ({"end": [LOST, LOST, None]}, [*ONCE, *ONCE, *ONCE]),
    ],
)
def test_a_step_that_lost_a_peer_is_attempted_again(
    raises: dict[str, list[Exception | None]], calls: list[str]
) -> None:
    """From its beginning, wherever that showed."""
    worker = ScriptedWorker(**raises)
    train(worker)
    assert worker.calls == calls
    with pytest.raises(FailedPreconditionError, match="no step has begun"):
        _ = worker.step


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_step_that_lost_a_peer_is_no_less_so_where_its_error_was_caught(
    where: str,
) -> None:
    """As by trainers that pass over what a micro-batch fails with."""
    worker = ScriptedWorker(**{where: [LOST, None]})
    (micro_batch, *_) = example_attention.steps(2, 1)[0]
    form, given = AttentionForm(torch.float32, 2, 2, 64), torch.zeros(3, 2, 64)
    for attempt in worker.attempts(7):
        with attempt, suppress(AbortedError):
            done = worker.forward(micro_batch, form, given, given, given)
            worker.backward(done.state, done.saved, given)
    assert worker.calls == ONCE[: ONCE.index(where) + 1] + ONCE


@pytest.mark.parametrize("where", ["begin", "forward", "backward", "end"])
def test_other_errors_go_on_to_the_trainer(where: str) -> None:
    """Once, and the peers are told where they would wait."""
    worker = ScriptedWorker(**{where: [UnavailableError("gone")]})
    with pytest.raises(UnavailableError, match="gone"):
        train(worker)
    told = "abandon UnavailableError: gone" in worker.calls
    assert told == (where in ("forward", "backward"))
    worker.calls.clear()
    train(worker)
    assert worker.calls == ONCE


def test_an_aborted_error_of_something_else_goes_on_to_the_trainer() -> None:
    """As a dataset's, whose job was reshaped."""
    worker = ScriptedWorker()
    with pytest.raises(AbortedError, match="EPOCH"):
        for attempt in worker.attempts(7):
            with attempt:
                raise AbortedError("EPOCH")
    assert worker.calls == ["begin 7", "abandon AbortedError: EPOCH"]


def test_attempts_are_entered_one_at_a_time() -> None:
    """Or the group would not know where this rank is."""
    worker = ScriptedWorker()
    with pytest.raises(FailedPreconditionError, match="step 7 has begun and not ended"):
        for attempt in worker.attempts(7):
            with attempt, next(worker.attempts(8)):
                pass
    with pytest.raises(FailedPreconditionError, match="was not entered"):
        for _ in worker.attempts(7):
            pass


def test_a_micro_batch_of_a_group_of_another_size_is_refused() -> None:
    """Naming the sizes, before the worker is asked."""
    worker = ScriptedWorker()
    (micro_batch, *_) = example_attention.steps(4, 1)[0]
    form = AttentionForm(torch.float32, 2, 2, 64)
    given = example_attention.same(torch.zeros(3, 2, 64))
    with pytest.raises(FailedPreconditionError, match=r"groups of 4 ranks.* has 2"):
        worker.forward(micro_batch, form, *given)
    assert worker.calls == []


def test_leaving_its_context_closes_it() -> None:
    """Also where that is by an exception."""
    worker = ScriptedWorker()
    with pytest.raises(RuntimeError), worker:
        raise RuntimeError
    assert worker.calls == ["close"]
    (micro_batch, *_) = example_attention.steps(2, 1)[0]
    with pytest.raises(ValueError, match="worker: ScriptedWorker"):
        attention(
            *example_attention.same(torch.zeros(1, 1, 64)), micro_batch, worker=worker
        )
