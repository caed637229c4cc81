"""Ranks that compute in their trainers' processes, here threads and processes."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import example_attention
import example_jobs
import pytest
import torch
from evenpack import Client
from evenpack.attention_workers import InProcessOptions, InProcessWorker
from evenpack.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from evenpack.sharded_attention import attention
from example_attention import execute
from server_process import ServerProcess
from torch.distributed import ProcessGroup
from torch_ranks import run_ranks


def world() -> ProcessGroup:
    """All ranks of torch.distributed."""
    group = torch.distributed.group.WORLD
    assert group is not None
    return group


def _over_process_group(sharding: str) -> None:
    import torch.distributed as dist

    steps = example_attention.steps(3, 3, sharding=sharding)
    with InProcessWorker.over(world()) as worker:
        assert (worker.cp_rank, worker.cp_size) == (dist.get_rank(), 3)
        assert [execute(worker, step) for step in steps] == [1, 1, 1]
        # Nobody leaves while another still computes with it.
        dist.barrier()


@pytest.mark.parametrize(
    "sharding", ["SHARDING_PER_DOCUMENT", "SHARDING_PER_SEQUENCE", "SHARDING_HYBRID"]
)
def test_ranks_of_a_process_group_share_a_micro_batch(sharding: str) -> None:
    """Each its own rows, forward and backward, without a server."""
    run_ranks(3, _over_process_group, sharding)


class Group:
    """The ranks of a server's job, each in a thread of its own."""

    def __init__(self, server: ServerProcess, ranks: int = 2) -> None:
        """A job with as many context-parallel ranks."""
        self._client = Client(server.grpc_address)
        self._client.create_job(
            "run", example_jobs.spec(parallelism={"context": ranks})
        )
        self.ranks = ranks

    def join(
        self, rank: int, patience_seconds: float = 60, **options: float
    ) -> InProcessWorker:
        """That rank."""
        return InProcessWorker.join(
            self._client,
            job="run",
            dp_rank=0,
            cp_rank=rank,
            options=InProcessOptions(
                threads=1,
                patience_seconds=patience_seconds,
                **options,  # type: ignore[arg-type]
            ),
        )

    def run(self, body: Callable[[InProcessWorker], None]) -> None:
        """body(worker) on each rank; raises what one of them raised."""
        done = threading.Barrier(self.ranks)

        def rank(index: int) -> None:
            with self.join(index) as worker:
                try:
                    body(worker)
                    done.wait(timeout=60)
                except BaseException:
                    done.abort()
                    raise

        with ThreadPoolExecutor(self.ranks) as pool:
            for result in [pool.submit(rank, index) for index in range(self.ranks)]:
                result.result()


@pytest.fixture
def group(server: ServerProcess) -> Group:
    """Of two."""
    return Group(server)


def test_ranks_find_each_other_through_the_server(group: Group) -> None:
    """And measure what they do."""
    steps = example_attention.steps(2, 2)

    def body(worker: InProcessWorker) -> None:
        assert worker.epoch == 0
        assert [execute(worker, step) for step in steps] == [1, 1]
        assert worker.epoch == 1
        times = worker.step_times
        assert [of.micro_batch for of in times] == [0, 1]
        for of in times:
            assert (of.forward_passes, of.backward_passes) == (2, 2)
            assert of.forward_ns > 0 and of.backward_ns > 0 and of.waited_ns >= 0

    group.run(body)


def test_threads_take_turns(server: ServerProcess) -> None:
    """Where there are no peers whose order they would have to keep."""
    (step,) = example_attention.steps(1, 1)
    (micro_batch, *_) = step
    alone = Group(server, ranks=1)

    def pass_after_pass(worker: InProcessWorker) -> None:
        for _ in range(25):
            layer = example_attention.Layer(micro_batch, 0)
            output = attention(*layer.inputs, micro_batch, worker=worker)
            output.backward(layer.output_gradient)
            layer.check(output)
            assert worker.epoch == 1

    with alone.join(0) as worker, ThreadPoolExecutor(4) as pool:
        for attempt in worker.attempts(step.index):
            with attempt:
                for each in [pool.submit(pass_after_pass, worker) for _ in range(4)]:
                    each.result()
        assert worker.step_times[0].forward_passes == 100


def test_a_group_that_is_none_is_refused() -> None:
    """As of a process that is in none."""
    with pytest.raises(InvalidArgumentError, match=r"group: None is .*ProcessGroup"):
        InProcessWorker.over(None)  # type: ignore[arg-type]


def test_a_step_that_a_peer_gave_up_is_attempted_again_by_all(group: Group) -> None:
    """The peer's own error goes on to the peer's trainer."""
    (step,) = example_attention.steps(2, 1)

    def body(worker: InProcessWorker) -> None:
        if worker.cp_rank == 1:
            with pytest.raises(RuntimeError, match="out of memory"):
                for attempt in worker.attempts(step.index):
                    with attempt:
                        raise RuntimeError("out of memory")
            assert execute(worker, step) == 1
        else:
            assert execute(worker, step) == 2
        assert worker.epoch == 2

    group.run(body)


def test_ranks_at_other_steps_are_told_so(group: Group) -> None:
    """By the number of each."""
    near, far = example_attention.steps(2, 8)[0], example_attention.steps(2, 8)[7]

    def body(worker: InProcessWorker) -> None:
        step = near if worker.cp_rank == 0 else far
        with pytest.raises(FailedPreconditionError, match=r"step [07]"):
            execute(worker, step)

    group.run(body)


def test_a_rank_that_is_taken_over_is_told_so(group: Group) -> None:
    """And its peers go on with the newer one."""
    first, second = example_attention.steps(2, 2)

    def peer() -> None:
        with group.join(1) as worker:
            execute(worker, first)
            execute(worker, second)

    with ThreadPoolExecutor(1) as pool, group.join(0) as old:
        peers = pool.submit(peer)
        execute(old, first)
        with group.join(0) as newer:
            execute(newer, second)
        with pytest.raises(FailedPreconditionError, match="taken by a newer"):
            execute(old, second)
        peers.result()


def test_attention_is_within_an_attempt_and_of_its_group(group: Group) -> None:
    """Or it would wait for peers that are elsewhere."""
    steps = example_attention.steps(2, 1)
    with group.join(0) as worker:
        (micro_batch, *_) = steps[0]
        given = example_attention.same(
            torch.zeros(int(micro_batch.rank_tokens[0]), 2, 64)
        )
        with pytest.raises(FailedPreconditionError, match="no step has begun"):
            attention(*given, micro_batch, worker=worker)
        with pytest.raises(FailedPreconditionError, match="was not entered"):
            list(worker.attempts(0))
        with pytest.raises(InvalidArgumentError, match="worker: InProcessWorker"):
            attention(*given, micro_batch, "sidecar", worker=worker)

    def body(worker: InProcessWorker) -> None:
        (uncut, *_) = example_attention.steps(1, 1)[0]
        given = example_attention.same(torch.zeros(uncut.tokens, 2, 64))
        with (
            pytest.raises(FailedPreconditionError, match="groups of 1 ranks"),
            next(worker.attempts(0)),
        ):
            attention(*given, uncut, worker=worker)

    group.run(body)


def test_a_closed_worker_says_so(group: Group) -> None:
    """In whatever is called of it."""
    worker = group.join(0)
    worker.close()
    with pytest.raises(CancelledError):
        execute(worker, example_attention.steps(2, 1)[0])


@pytest.fixture
def control_c() -> Iterator[None]:
    """Not ignored, as it is where a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("control_c")
def test_waiting_for_a_peer_that_does_not_come_ends_with_control_c(
    group: Group,
) -> None:
    """As any wait."""
    main = threading.main_thread().ident
    assert main is not None
    with group.join(0) as worker:
        interrupt = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            execute(worker, example_attention.steps(2, 1)[0])
        interrupt.join()


def test_a_handler_may_close_the_worker_that_waits(group: Group) -> None:
    """As a trainer's of SIGTERM, which cannot know what is under way."""
    main = threading.main_thread().ident
    assert main is not None
    worker = group.join(0)

    def handler(_number: int, _frame: FrameType | None) -> None:
        worker.close()

    before = signal.signal(signal.SIGTERM, handler)
    try:
        terminate = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGTERM))
        terminate.start()
        with pytest.raises(CancelledError):
            execute(worker, example_attention.steps(2, 1)[0])
        terminate.join()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_peer_that_hangs_is_not_waited_for_for_ever(group: Group) -> None:
    """Its connections stand, and it takes part in no exchange."""
    first, second = example_attention.steps(2, 2)
    with ThreadPoolExecutor(1) as pool, group.join(1) as hangs:
        peer = pool.submit(execute, hangs, first)
        with group.join(0, patience_seconds=0.5, exchange_seconds=0.2) as worker:
            assert execute(worker, first) == 1
            peer.result()
            says = (
                f"step {second.index}: not all ranks .* patience of 0.5 s; .*cp_rank 1:"
            )
            with pytest.raises(DeadlineExceededError, match=says):
                execute(worker, second)


def test_no_aborted_error_reaches_the_trainer() -> None:
    """A group over a process group has nobody to form anew with."""
    run_ranks(2, _lost_for_good)


def _lost_for_good() -> None:
    import torch.distributed as dist

    (step,) = example_attention.steps(2, 1)
    with InProcessWorker.over(world()) as worker:
        try:
            execute(worker, step)
            if dist.get_rank() == 1:
                for attempt in worker.attempts(step.index + 1):
                    with attempt:
                        raise RuntimeError("lost")
        except RuntimeError:
            pass
        if dist.get_rank() == 0:
            with pytest.raises(FailedPreconditionError, match="begin anew") as raised:
                for attempt in worker.attempts(step.index + 1):
                    with attempt:
                        for micro_batch in step:
                            layer = example_attention.Layer(micro_batch, 0)
                            attention(*layer.inputs, micro_batch, worker=worker)
            assert not isinstance(raised.value, AbortedError)
        dist.barrier()


def test_a_job_of_the_server_is_executed_whole(server: ServerProcess) -> None:
    """The dataset's steps, as they come."""
    example_attention.create_job(server)
    client = Client(server.grpc_address)

    def rank(index: int) -> int:
        with (
            InProcessWorker.join(
                client,
                job="run",
                dp_rank=0,
                cp_rank=index,
                options=InProcessOptions(threads=1, patience_seconds=60),
            ) as worker,
            example_attention.dataset_of(server, index) as steps,
        ):
            return sum(execute(worker, step) for step in steps)

    with ThreadPoolExecutor(2) as pool:
        executed = list(pool.map(rank, range(2)))
    assert executed[0] == executed[1] > 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"device": "nope"}, "device: 'nope' .*: cpu, cuda or cuda:N"),
        ({"threads": 1025}, "threads: 1025 .*: 0 to 1024"),
        ({"threads": -1}, "threads: -1 .*: 0 to 1024"),
        ({"memory_bytes": 0}, "memory_bytes: 0 .*: 1 to"),
        ({"head_groups": 0}, "head_groups: 0 .*: 1 to 1024"),
        ({"connect_seconds": 0}, "connect_seconds: 0 .*: 0.001 to"),
        ({"exchange_seconds": math.inf}, "exchange_seconds: inf .*: 0.001 to"),
        ({"patience_seconds": math.nan}, "patience_seconds: nan .*: 0 to"),
    ],
)
def test_a_number_that_cannot_be_names_its_field(
    arguments: dict[str, Any], named: str
) -> None:
    """When the options are made: as many threads would end the process."""
    with pytest.raises(InvalidArgumentError, match=named):
        InProcessOptions(**arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"dp_rank": -1}, "dp_rank: -1 .*: 0 to 4294967295"),
        ({"cp_rank": -1}, "cp_rank: -1 .*: 0 to 1"),
        ({"cp_rank": 2}, "cp_rank: 2 .*: 0 to 1"),
        ({"cp_size": 0}, "cp_size: 0 .*: 1 to 4294967295"),
    ],
)
def test_a_rank_that_cannot_be_is_refused(
    arguments: dict[str, int], named: str
) -> None:
    """Before the server is asked: there is none."""
    client = Client("127.0.0.1:1", patience_seconds=0)
    given: dict[str, Any] = {"dp_rank": 0, "cp_rank": 0, "cp_size": 2}
    with pytest.raises(InvalidArgumentError, match=named):
        InProcessWorker.join(client, job="run", **(given | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"client": "a:1"}, "client: str is not accepted; accepted: a Client"),
        ({"job": None}, "job: None is not accepted; accepted: a str"),
        ({"member": 3}, "member: 3 is not accepted; accepted: a str"),
        (
            {"options": {}},
            "options: dict is not accepted; accepted: an InProcessOptions, or None",
        ),
    ],
)
def test_an_argument_of_another_kind_is_named(
    arguments: dict[str, Any], message: str
) -> None:
    client = Client("127.0.0.1:1", patience_seconds=0)
    whole: dict[str, Any] = {"client": client, "job": "run"}
    ranks: dict[str, Any] = {"dp_rank": 0, "cp_rank": 0, "cp_size": 2}
    with pytest.raises(InvalidArgumentError) as caught:
        InProcessWorker.join(**(whole | ranks | arguments))
    assert str(caught.value) == message


def test_a_host_that_is_no_text_is_named() -> None:
    host: Any = None
    with pytest.raises(InvalidArgumentError) as caught:
        InProcessOptions(host=host)
    assert str(caught.value) == "host: None is not accepted; accepted: a str"
