"""Ranks whose attention is computed by evenpack-worker processes beside them."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import example_attention
import example_jobs
import numpy as np
import pytest
import torch
from certificates import Certificates
from evenpack import Client, PackedDataset, Step
from evenpack.attention_workers import AttentionForm, SidecarWorker
from evenpack.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnavailableError,
)
from evenpack.sharded_attention import attention
from example_attention import execute
from server_process import ServerProcess
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from worker_service_process import WorkerServiceProcess

FORM = AttentionForm(torch.float32, query_heads=4, kv_heads=2, head_size=64)
ARENA = 64 << 20


@pytest.fixture
def sidecars(served: ServerProcess) -> Iterator[list[WorkerServiceProcess]]:
    """One for each rank."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(WorkerServiceProcess(served.grpc_address))
            for _ in range(2)
        ]


def open_worker(folder: str, rank: int = 0, **changes: object) -> SidecarWorker:
    """A session of a rank."""
    options: dict[str, Any] = {
        "job": "run",
        "dp_rank": 0,
        "cp_rank": rank,
        "form": FORM,
        "arena_bytes": ARENA,
    }
    return SidecarWorker(folder, **(options | changes))


def run_ranks(
    server: ServerProcess,
    sidecars: list[WorkerServiceProcess],
    body: Callable[[SidecarWorker, Iterator[Step]], int],
) -> list[int]:
    """body(worker, steps) on each rank."""

    def rank(index: int) -> int:
        with (
            open_worker(sidecars[index].folder, index) as worker,
            example_attention.dataset_of(server, index) as steps,
        ):
            assert worker.cp_size == 2
            return body(worker, iter(steps))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(rank, range(2)))


def test_a_job_is_executed_whole(
    served: ServerProcess, sidecars: list[WorkerServiceProcess]
) -> None:
    """In memory for a few passes, which is given back; steps count once a trainer."""
    executed = run_ranks(
        served,
        sidecars,
        lambda worker, steps: sum(execute(worker, step, "sidecar") for step in steps),
    )
    assert executed[0] == executed[1] > 3
    taken = served.metric('evenpack_job_steps_taken_total{job="run"}')
    assert taken == 2 * Client(served.grpc_address).get_job("run").next_step


def test_forward_passes_alone_give_their_memory_back(
    served: ServerProcess, sidecars: list[WorkerServiceProcess]
) -> None:
    """Of many times the arena."""

    def evaluate(worker: SidecarWorker, steps: Iterator[Step]) -> int:
        step = next(steps)
        passes = 0
        (micro_batch, *_) = step
        rows = int(micro_batch.rank_tokens[worker.cp_rank])
        taken = rows * (2 * 4 + 2 * 2) * 64 * 4
        layer = example_attention.Layer(micro_batch, worker.cp_rank)
        for attempt in worker.attempts(step.index):
            with attempt, torch.no_grad():
                while passes * taken < 2 * ARENA:
                    attention(*layer.inputs, micro_batch, "sidecar", worker=worker)
                    passes += 1
        return passes

    # Ranks hold as many rows within one, so that both end together.
    assert len(set(run_ranks(served, sidecars, evaluate))) == 1


def test_a_session_says_what_it_does_not_take(
    sidecars: list[WorkerServiceProcess],
) -> None:
    """And leaves the worker to the next one."""
    folder = sidecars[0].folder
    with pytest.raises(NotFoundError, match="other"):
        open_worker(folder, job="other")
    with pytest.raises(InvalidArgumentError, match="head_size: 65"):
        open_worker(folder, form=AttentionForm(torch.float32, 4, 2, 65))
    with pytest.raises(InvalidArgumentError, match="member"):
        open_worker(folder, member="x" * 257)
    for field in ("dp_rank", "cp_rank", "from_step", "head_groups", "arena_bytes"):
        with pytest.raises(InvalidArgumentError, match=f"{field}: -1 is not accepted"):
            open_worker(folder, **{field: -1})
    for field, given in (("job", 1), ("member", 1), ("last_digest", 1), ("form", 1)):
        shown = "int" if field == "form" else "1"
        with pytest.raises(InvalidArgumentError, match=f"^{field}: {shown} is not"):
            open_worker(folder, **{field: given})
    with pytest.raises(UnavailableError, match=r"attach\.sock"):
        open_worker(f"{folder}/nowhere")
    with pytest.raises(ResourceExhaustedError):
        open_worker(folder, arena_bytes=1 << 50)
    with (
        open_worker(folder),
        pytest.raises(FailedPreconditionError, match="attached"),
    ):
        open_worker(folder)
    open_worker(folder).close()


def test_a_worker_is_left_where_its_session_can_not_be_asked_for(
    sidecars: list[WorkerServiceProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while somebody keeps the exception, and with it what it was raised in."""
    folder = sidecars[0].folder
    with monkeypatch.context() as patch:
        patch.setattr("evenpack.attention_workers.sidecar.Transport", None)
        with pytest.raises(TypeError) as kept:
            open_worker(folder)
    open_worker(folder).close()
    assert kept.tb is not None


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[socket.socket]:
    """In that folder, a worker's attach socket, which nobody answers at."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "attach.sock"))
        listening.listen()
        yield listening


@pytest.mark.usefixtures("silent")
def test_a_worker_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    """As one that is stopped."""
    with pytest.raises(DeadlineExceededError, match=r"attach\.sock .* within 0\.01 s"):
        open_worker(str(tmp_path), open_seconds=0.01)


def test_a_signal_ends_the_wait_for_a_worker(
    silent: socket.socket, tmp_path: Path
) -> None:
    """And the connection with it."""

    def interrupt() -> None:
        connection, _ = silent.accept()
        with connection:
            os.kill(os.getpid(), signal.SIGINT)
            while connection.recv(4096):
                pass

    with ThreadPoolExecutor(1) as pool:
        interrupting = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            open_worker(str(tmp_path), open_seconds=60.0)
        interrupting.result()


@pytest.mark.parametrize("variable", ["EVENPACK_TLS_CA", "EVENPACK_TOKEN_FILE"])
def test_what_the_environment_says_of_the_packing_server_is_not_for_the_worker(
    sidecars: list[WorkerServiceProcess],
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    """Its socket has no TLS, and gets no token: one that can't be read is no error."""
    file = certificates.pem("ca" if variable == "EVENPACK_TLS_CA" else "missing")
    monkeypatch.setenv(variable, str(file))
    with open_worker(sidecars[0].folder) as worker:
        assert worker.cp_size == 2


def test_a_pass_of_another_form_is_refused(
    sidecars: list[WorkerServiceProcess],
) -> None:
    """Before it is sent."""
    (micro_batch, *_) = example_attention.steps(2, 1)[0]
    with open_worker(sidecars[0].folder) as worker:
        given = example_attention.same(torch.zeros(7, 4, 64))
        with pytest.raises(InvalidArgumentError, match=r"kv_heads=4.*kv_heads=2"):
            attention(*given, micro_batch, "sidecar", worker=worker)


@pytest.fixture
def lone_process(server: ServerProcess) -> Iterator[WorkerServiceProcess]:
    """For a rank without peers, whose documents have 64 tokens each."""
    client = Client(server.grpc_address)
    client.create_job("run", example_attention.job_spec(1))
    example_jobs.feed(client, "run", np.full(40, 64, np.uint32))
    with WorkerServiceProcess(server.grpc_address) as process:
        yield process


@pytest.fixture
def alone(lone_process: WorkerServiceProcess) -> Iterator[SidecarWorker]:
    """That rank."""
    with open_worker(lone_process.folder) as worker:
        yield worker


def steps_of(length: int) -> list[Step]:
    """Steps as that rank's, but for the documents' length."""
    lengths = np.full(40, length, np.uint32)
    dataset = PackedDataset(spec=example_attention.job_spec(1), lengths=lengths)
    return [step for step, _ in zip(dataset, range(2), strict=False)]


def test_a_micro_batch_of_other_documents_is_refused(alone: SidecarWorker) -> None:
    """Though it has as many rows."""
    own, other = steps_of(64)[0][0], steps_of(32)[0][0]
    assert own.tokens == other.tokens
    layer = example_attention.Layer(other, 0)
    with pytest.raises(InvalidArgumentError, match=r"plan: .* micro-batch 0 of step 0"):
        for attempt in alone.attempts(0):
            with attempt:
                attention(*layer.inputs, other, "sidecar", worker=alone)


def test_a_backward_pass_belongs_to_its_step(alone: SidecarWorker) -> None:
    """As the worker has the micro-batches of no other."""
    (first, second) = steps_of(64)
    layer = example_attention.Layer(first[0], 0)
    for attempt in alone.attempts(first.index):
        with attempt:
            output = attention(*layer.inputs, first[0], "sidecar", worker=alone)
    for attempt in alone.attempts(second.index):
        match = r"a pass of step 0 is not .* in step 1"
        with attempt, pytest.raises(FailedPreconditionError, match=match):
            output.backward(layer.output_gradient)


def test_after_an_error_in_an_attempt_another_worker_is_opened(
    alone: SidecarWorker, lone_process: WorkerServiceProcess
) -> None:
    """The peers must not wait for a trainer that may not come back."""
    with pytest.raises(KeyError), next(alone.attempts(0)):
        raise KeyError("a trainer's own")
    match = (
        "the session was ended, as an attempt failed with KeyError: .*; "
        r"accepted: another SidecarWorker, with from_step=0"
    )
    with pytest.raises(UnavailableError, match=match):
        next(alone.attempts(0)).__enter__()
    with open_worker(lone_process.folder) as another:
        assert execute(another, steps_of(64)[0], "sidecar") == 1


@pytest.mark.parametrize("reentrant", [True, False])
def test_layers_that_are_computed_again_take_no_memory_meanwhile(
    alone: SidecarWorker, *, reentrant: bool
) -> None:
    """Of twice the arena, and gradients are those of layers that are kept."""
    (own, *_) = steps_of(64)[0]
    layer = example_attention.Layer(own, 0)
    query, key, value = layer.inputs
    gradient = layer.output_gradient

    def attend(query: Tensor) -> Tensor:
        return attention(query, key, value, own, "sidecar", worker=alone)

    for attempt in alone.attempts(0):
        with attempt:
            (expected,) = torch.autograd.grad(attend(query), query, gradient)
            checkpoint(attend, query, use_reentrant=reentrant).backward(gradient)
            assert query.grad is not None and torch.equal(query.grad, expected)
            found = query
            for _ in range(2 * ARENA // (own.tokens * (2 * 4 + 2 * 2) * 64 * 4)):
                found = checkpoint(attend, found, use_reentrant=reentrant)
            found.backward(gradient)


def test_what_a_hook_has_moved_is_put_back(alone: SidecarWorker) -> None:
    """As where activations are kept elsewhere until they are needed."""
    (own, *_) = steps_of(64)[0]
    layer = example_attention.Layer(own, 0)
    kept = 0

    def pack(tensor: Tensor) -> Tensor:
        nonlocal kept
        kept += 1
        return tensor.clone()

    for attempt in alone.attempts(0):
        with attempt:
            with torch.autograd.graph.saved_tensors_hooks(pack, torch.clone):
                output = attention(*layer.inputs, own, "sidecar", worker=alone)
            output.backward(layer.output_gradient)
    layer.check(output)
    assert kept == 5


def test_the_scale_that_a_head_size_has_by_default_is_its_number(
    alone: SidecarWorker,
) -> None:
    """Whichever of the two a session was opened with."""
    (own, *_) = steps_of(64)[0]
    given = example_attention.Layer(own, 0).inputs
    for attempt in alone.attempts(0):
        with attempt:
            found = attention(*given, own, "sidecar", worker=alone, scale=0.125)
            assert torch.equal(found, attention(*given, own, "sidecar", worker=alone))


def test_a_fork_is_refused_and_leaves_its_parents_pass_alone(
    alone: SidecarWorker,
) -> None:
    """Its memory is the same: where it wrote, the parent's results were wrong."""
    (own, *_) = steps_of(64)[0]
    layer = example_attention.Layer(own, 0)
    for attempt in alone.attempts(0):
        with attempt:
            output = attention(*layer.inputs, own, "sidecar", worker=alone)
            if (fork := os.fork()) == 0:
                # PyTorch would wait for threads that aren't in the fork.
                torch.set_num_threads(1)
                try:
                    attention(*layer.inputs, own, "sidecar", worker=alone)
                except FailedPreconditionError as error:
                    os._exit(0 if "is a fork of" in error.message else 2)
                finally:
                    os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
            output.backward(layer.output_gradient)
            layer.check(output)


def test_threads_take_turns(alone: SidecarWorker) -> None:
    """At the arena's ring."""
    (own, *_) = steps_of(64)[0]

    def pass_after_pass() -> None:
        for _ in range(25):
            layer = example_attention.Layer(own, 0)
            output = attention(*layer.inputs, own, "sidecar", worker=alone)
            output.backward(layer.output_gradient)
            layer.check(output)

    with ThreadPoolExecutor(4) as pool:
        for attempt in alone.attempts(0):
            with attempt:
                for each in [pool.submit(pass_after_pass) for _ in range(4)]:
                    each.result()


def test_a_worker_that_is_killed_is_told_of(
    sidecars: list[WorkerServiceProcess],
) -> None:
    """Rather than waited for."""
    worker = open_worker(sidecars[0].folder)
    sidecars[0].kill()
    with pytest.raises(UnavailableError, match="the worker is gone"):
        next(worker.attempts(0)).__enter__()
    worker.close()
