"""Tests of evenpack.awaited_marks: a trainer that marks nothing is told."""

from __future__ import annotations

import warnings
from itertools import islice

import example_jobs
import pytest
from evenpack import Client, PackedDataset, awaited_marks
from evenpack.awaited_marks import AwaitedMarks
from evenpack.errors import UnavailableError
from evenpack.v1.job_pb2 import Job, JobSpec, Retention
from server_process import ServerProcess


class _Server:
    """Answers with a job; and the clock."""

    def __init__(self, *, next_step: int, marked: list[int]) -> None:
        self.now = 100.0
        self.asked = 0
        self.is_away = False
        self.job = Job(
            name="run-7",
            next_step=next_step,
            durable_steps=min(marked),
            durable_steps_per_rank=marked,
            spec=JobSpec(retention=Retention(max_steps_ahead=1024)),
        )
        self.marks = AwaitedMarks(self.job_now, lambda: self.now)

    def job_now(self) -> Job:
        self.asked += 1
        if self.is_away:
            raise UnavailableError("away")
        return self.job

    def told_after(self, seconds: float) -> list[str]:
        """What is told once a step has been waited for so long."""
        self.marks.begin()
        self.now += seconds
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.marks.look()
        assert all(one.category is RuntimeWarning for one in told)
        return [str(one.message) for one in told]


def test_a_long_wait_for_marks_is_told_once() -> None:
    """By whom it is waited for, and from which step on."""
    server = _Server(next_step=1029, marked=[8, 5, 5])
    assert server.told_after(59.9) == []
    assert server.asked == 0
    assert server.told_after(60.1) == [
        "max_steps_ahead: 1,024 decided steps of job 'run-7' wait to be made durable; "
        "it goes on once ack_durable() has marked step 5 or a later one on DP rank 1, 2"
    ]
    assert server.told_after(60.1) == []
    assert server.asked == 1


def test_of_many_ranks_some_are_named() -> None:
    """Where none marks."""
    (told,) = _Server(next_step=1024, marked=[0] * 9).told_after(61)
    assert told.endswith("on DP rank 0, 1, 2, 3, 4, 5, 6, 7, ...")


def test_a_wait_for_documents_is_not_one_for_marks() -> None:
    """Nor is one for a server that is away."""
    server = _Server(next_step=1028, marked=[5])
    assert server.told_after(61) == []
    server.is_away = True
    assert server.told_after(61) == []
    server.is_away = False
    server.job.next_step = 1029
    assert len(server.told_after(61)) == 1


def test_a_server_is_asked_once_a_minute() -> None:
    """However often there is a look."""
    server = _Server(next_step=0, marked=[0])
    server.told_after(61)
    for _ in range(3):
        server.marks.look()
    assert server.asked == 1
    server.now += 60
    server.marks.look()
    assert server.asked == 2


@pytest.fixture
def client(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Of a job that decides three steps without a mark; no wait is too short."""
    monkeypatch.setattr(awaited_marks, "_SECONDS", 0.0)
    return example_jobs.client_of_fed_job(
        server.grpc_address,
        example_jobs.lengths(600),
        parallelism={"data": 1, "micro_batches_per_rank": 2},
        retention={"max_steps_ahead": 3},
        buffer_limits={"max_tokens": 1 << 20},
    )


def test_a_loop_that_never_marks_hears_of_it_and_goes_on_with_a_mark(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs until then, and is told so once."""
    told = []

    def mark(message: Warning | str, *_: object) -> None:
        told.append(str(message))
        client.acknowledge("run", 0, 2, 0)

    monkeypatch.setattr(warnings, "showwarning", mark)
    warnings.simplefilter("always", RuntimeWarning)
    with PackedDataset(client.address, job="run") as dataset:
        assert [step.index for step in islice(dataset, 5)] == [0, 1, 2, 3, 4]
        dataset.cancel()
    assert len(told) == 1
    assert told[0].startswith("max_steps_ahead: 3 decided steps of job 'run' wait")


def test_a_warning_that_is_an_error_ends_the_wait(client: Client) -> None:
    """As `python -W error` has it."""
    warnings.simplefilter("error", RuntimeWarning)
    with PackedDataset(client.address, job="run") as dataset:
        steps = iter(dataset)
        assert [step.index for step in islice(steps, 3)] == [0, 1, 2]
        with pytest.raises(RuntimeWarning, match="max_steps_ahead: 3"):
            next(steps)
        dataset.ack_durable()
        dataset.close()
        assert next(iter(dataset)).index == 3
