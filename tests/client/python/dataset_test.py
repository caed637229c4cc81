"""Tests of evenpack.dataset: both forms, alone and from one to the other."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import Any

import example_jobs
import pytest
from evenpack import Client, PackedDataset, ServerOptions, Step, StepWait
from evenpack.document_columns import DocumentSource
from evenpack.errors import (
    AbortedError,
    CancelledError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from evenpack.steps import Position
from evenpack.worker_loop import WorkerLoop
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(3000)


def _local(dp_rank: int = 0, **arguments: object) -> PackedDataset:
    given: dict[str, Any] = {"spec": example_jobs.spec(), "lengths": DOCUMENTS}
    given |= arguments
    return PackedDataset(dp_rank=dp_rank, **given)


@pytest.fixture
def client(server: ServerProcess) -> Client:
    """A client whose server has the job `run` with all documents."""
    return example_jobs.client_of_fed_job(server.grpc_address, DOCUMENTS)


def _served(client: Client, dp_rank: int = 0, **options: object) -> PackedDataset:
    given: dict[str, Any] = options
    return PackedDataset(
        client.address, job="run", dp_rank=dp_rank, options=ServerOptions(**given)
    )


def _digests(steps: Iterator[Step] | PackedDataset) -> list[bytes]:
    return [step.digest for step in steps]


def _documents(*datasets: PackedDataset) -> list[int]:
    return sorted(
        sequence
        for dataset in datasets
        for step in dataset
        for i in range(len(step))
        for sequence in step[i].sequence.tolist()
    )


def test_every_document_comes_exactly_once() -> None:
    """Over the ranks of a run."""
    assert _documents(_local(0), _local(1)) == list(range(len(DOCUMENTS)))


def test_the_server_sends_what_the_engine_here_decides(client: Client) -> None:
    """The same documents, the same digests."""
    with _served(client, 1) as served:
        assert [step.to_bytes() for step in served] == [
            step.to_bytes() for step in _local(1)
        ]


@pytest.mark.parametrize("taken", [1, 2, 7, 30])
def test_a_local_dataset_goes_on_where_its_state_was(taken: int) -> None:
    """Behind the last step that was handed out."""
    undisturbed = _digests(_local())
    first = _local()
    list(islice(first, taken))
    state = pickle.loads(pickle.dumps(first.state_dict()))
    resumed = _local()
    resumed.load_state_dict(state)
    assert _digests(resumed) == undisturbed[taken:]


def test_a_state_of_before_the_first_step_begins_anew() -> None:
    """It is none of a step."""
    state = _local().state_dict()
    dataset = _local()
    list(islice(dataset, 3))
    dataset.load_state_dict(state)
    assert _digests(dataset) == _digests(_local())


def test_iterating_again_goes_on() -> None:
    """One stream of steps, however often it is begun."""
    dataset = _local()
    digests = [step.digest for step in islice(dataset, 3)]
    assert digests + _digests(dataset) == _digests(_local())
    assert _digests(dataset) == []


class _FailsOnce:
    """Lengths, but for one error on the way."""

    def __init__(self, error: BaseException, document: int) -> None:
        self.error: BaseException | None = error
        self.document = document

    def __iter__(self) -> Iterator[int]:
        for number, length in enumerate(DOCUMENTS.tolist()):
            if number == self.document and self.error is not None:
                error, self.error = self.error, None
                raise error
            yield length


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk")])
@pytest.mark.parametrize("document", [0, 1500, 2999])
def test_no_document_is_lost_where_reading_them_failed(
    error: BaseException, document: int
) -> None:
    """Iterating again reads on where the job is."""
    dataset = _local(lengths=_FailsOnce(error, document))
    digests = []
    with pytest.raises(type(error)):
        for step in dataset:
            digests.append(step.digest)
    assert digests + _digests(dataset) == _digests(_local())


class _RaisedError(Exception):
    """By a signal's handler, as Ctrl-C's raises KeyboardInterrupt."""


def test_no_step_is_lost_where_a_signals_handler_raises() -> None:
    """Also while the engine decides one, the first too."""
    wide = example_jobs.spec(parallelism={"data": 16, "micro_batches_per_rank": 8})
    lengths = example_jobs.lengths(30_000)
    undisturbed = _digests(_local(spec=wide, lengths=lengths))
    dataset = _local(spec=wide, lengths=lengths)
    steps: list[Step] = []
    raised = 0
    raises = False

    def handler(_number: int, _frame: FrameType | None) -> None:
        if raises:
            raise _RaisedError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        while len(steps) < len(undisturbed):
            try:
                raises = True
                signal.setitimer(signal.ITIMER_REAL, 0.002)
                # Keeps each step that it is given.
                steps.extend(islice(dataset, len(undisturbed) - len(steps)))
                raises = False
            except _RaisedError:
                raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised > 0
    assert _digests(iter(steps)) == undisturbed


def test_an_interruption_as_a_servers_step_is_given_loses_none(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is a step ahead then."""
    give = WorkerLoop.give
    interrupted: list[bytes] = []

    def interrupted_once(loop: WorkerLoop) -> None:
        give(loop)
        if not interrupted and len(steps) == 2:
            interrupted.append(steps[-1])
            raise KeyboardInterrupt

    monkeypatch.setattr(WorkerLoop, "give", interrupted_once)
    dataset = _served(client)
    steps: list[bytes] = []
    with pytest.raises(KeyboardInterrupt):
        steps.extend(step.digest for step in dataset)
    steps.extend(step.digest for step in dataset)
    assert len(interrupted) == 1
    assert steps == _digests(_local())


def test_a_first_step_that_is_not_the_first_is_data_loss() -> None:
    """Such as one of a job of which another took the first."""
    dataset = _local()
    iteration = iter(dataset)
    steps = dataset._open()
    assert steps.next() is not None
    steps.taken(Position(1))
    with pytest.raises(DataLossError, match="step 1 came, not 0"):
        next(iteration)


def test_an_older_iteration_ends_where_the_dataset_goes_on_elsewhere() -> None:
    """Or it would hand out steps that the state doesn't know of."""
    dataset = _local()
    older = iter(dataset)
    state = [dataset.state_dict() for _ in islice(older, 5)][2]
    dataset.load_state_dict(state)
    with pytest.raises(CancelledError, match="goes on elsewhere"):
        next(older)
    assert next(iter(dataset)).index == 3
    assert dataset.state_dict()["next_step"] == 4


def test_a_checkpoint_of_another_step_is_data_loss() -> None:
    """Such as that of one step later."""
    dataset = _local()
    states = [dataset.state_dict() for _ in islice(dataset, 3)]
    with pytest.raises(DataLossError, match="before step 3, not 2"):
        other = _local()
        other.load_state_dict(states[1] | {"checkpoint": states[2]["checkpoint"]})
        next(iter(other))


def test_a_checkpoint_that_is_none_is_refused() -> None:
    """By name, before anything is left off."""
    dataset = _local()
    next(iter(dataset))
    with pytest.raises(InvalidArgumentError, match=r"checkpoint: 'x' .*: bytes"):
        dataset.load_state_dict(dataset.state_dict() | {"checkpoint": "x"})
    assert next(iter(dataset)).index == 1


@pytest.mark.parametrize("step", [-1, 2.5, "0"])
def test_a_mark_of_what_is_no_step_is_refused(step: object) -> None:
    """Before anything is sent."""
    dataset = _local()
    next(iter(dataset))
    given: Any = step
    with pytest.raises(InvalidArgumentError, match=r"step: .* 0 to 1844674"):
        dataset.ack_durable(given)


def test_an_empty_state_leaves_the_checkpoint_that_was_given() -> None:
    """It says of no step."""
    dataset = _local()
    list(islice(dataset, 5))
    checkpoint = dataset.state_dict()["checkpoint"]
    resumed = _local(checkpoint=checkpoint)
    resumed.load_state_dict(PackedDataset("localhost:1", job="run").state_dict())
    assert next(iter(resumed)).index == 5


@pytest.mark.parametrize(
    ("lengths", "named"),
    [
        (iter(DOCUMENTS.tolist()), "iterator .* from the beginning again"),
        (DOCUMENTS[:10], "10 documents .* at least"),
        (range(1, 11), "10 documents .* at least"),
    ],
)
def test_documents_that_can_not_be_read_again_are_refused(
    lengths: DocumentSource, named: str
) -> None:
    """Rather than end early."""
    dataset = _local()
    list(islice(dataset, 5))
    resumed = _local(lengths=lengths)
    resumed.load_state_dict(dataset.state_dict())
    with pytest.raises(InvalidArgumentError, match=named):
        list(resumed)


def test_a_dataset_goes_on_in_another_process_where_it_was() -> None:
    """Pickled, as for a worker that is spawned."""
    dataset = _local()
    list(islice(dataset, 4))
    copy = pickle.loads(pickle.dumps(dataset))
    assert _digests(copy) == _digests(dataset)


@pytest.mark.parametrize("taken", [1, 9])
def test_a_served_dataset_goes_on_where_its_state_was(
    client: Client, taken: int
) -> None:
    """By step and digest."""
    undisturbed = _digests(_local())
    with _served(client) as first:
        list(islice(first, taken))
        state = pickle.loads(pickle.dumps(first.state_dict()))
    with _served(client) as resumed:
        resumed.load_state_dict(state)
        assert _digests(resumed) == undisturbed[taken:]


def test_a_state_of_another_history_is_data_loss(client: Client) -> None:
    """A server restored from an old backup doesn't go unnoticed."""
    with _served(client) as dataset:
        list(islice(dataset, 3))
        state = dataset.state_dict()
    state["digest"] = bytes(16)
    with _served(client) as other:
        other.load_state_dict(state)
        with pytest.raises(DataLossError):
            next(iter(other))


def test_a_job_moves_from_the_trainer_to_a_server(server: ServerProcess) -> None:
    """In the middle of a run, by the checkpoint in the dataset's state."""
    undisturbed = _digests(_local())
    local = _local()
    list(islice(local, 11))
    state = local.state_dict()
    client = Client(server.grpc_address)
    job = client.restore_job("run", state["checkpoint"])
    assert job.durable_steps == 11
    example_jobs.feed(client, "run", DOCUMENTS)
    with _served(client) as served:
        served.load_state_dict(state)
        assert _digests(served) == undisturbed[11:]


def test_a_job_moves_from_a_server_to_the_trainer(client: Client) -> None:
    """The other way round."""
    undisturbed = _digests(_local())
    with _served(client) as served:
        list(islice(served, 11))
        state = served.state_dict()
    local = _local()
    with pytest.raises(InvalidArgumentError, match=r"checkpoint_job\('run', 10\)"):
        local.load_state_dict(state)
    state["checkpoint"] = client.checkpoint_job("run", 10).checkpoint
    local.load_state_dict(state)
    assert _digests(local) == undisturbed[11:]


NARROW = {"data": 1, "micro_batches_per_rank": 4, "context": 1}


def test_a_local_run_goes_on_under_another_dp_and_cp() -> None:
    """Nothing twice, nothing lost."""
    ranks = [_local(0), _local(1)]
    before = [
        sequence
        for rank in ranks
        for step in islice(rank, 9)
        for i in range(len(step))
        for sequence in step[i].sequence.tolist()
    ]
    resumed = _local(0, spec=example_jobs.spec(parallelism=NARROW))
    resumed.load_state_dict(ranks[1].state_dict())
    steps = list(resumed)
    assert all(len(step) == 4 for step in steps)
    assert {step[0].context_parallel for step in steps} == {1}
    after = [s for step in steps for i in range(4) for s in step[i].sequence.tolist()]
    assert sorted(before + after) == list(range(len(DOCUMENTS)))
    assert steps[0].epoch == 1


def test_a_served_run_goes_on_under_another_dp_as_a_local_one(client: Client) -> None:
    """Reshaped at the same step, the two forms decide the same."""
    with _served(client) as served:
        list(islice(served, 9))
        state = served.state_dict()
    shape = example_jobs.spec(parallelism=NARROW)
    client.update_job("run", shape, from_step=9)
    with _served(client) as served:
        served.load_state_dict(state)
        digests = _digests(served)
    local = _local()
    list(islice(local, 9))
    resumed = _local(0, spec=shape)
    resumed.load_state_dict(local.state_dict())
    assert digests == _digests(resumed)


def test_a_newer_subscription_takes_over(client: Client) -> None:
    """The older one ends with the reason."""
    with _served(client) as older, _served(client) as newer:
        next(iter(older))
        next(iter(newer))
        with pytest.raises(AbortedError) as raised:
            list(older)
        assert raised.value.reason == "CLAIM_TAKEN"


def test_waits_are_counted(client: Client) -> None:
    """In both forms, also for steps that ended; a copy begins at none."""
    for dataset in (_served(client), _local()):
        with dataset:
            list(islice(dataset, 5))
            assert dataset.step_wait.steps_taken == 5
            assert dataset.step_wait.first_step_seconds > 0
            dataset.load_state_dict(dataset.state_dict())
            list(islice(dataset, 2))
        assert dataset.step_wait.steps_taken == 7
        assert pickle.loads(pickle.dumps(dataset)).step_wait == StepWait()


def test_measured_latencies_reach_the_server(
    client: Client, server: ServerProcess
) -> None:
    """Of a micro-batch or its place; a local dataset has nobody to tell."""
    with _served(client, 1) as dataset:
        for step in islice(dataset, 3):
            dataset.report_latency(step, 1, forward_ns=5_000_000)
            dataset.report_latency(step, step[0], forward_ns=5_000_000)
        others = next(iter(_local()))[0]
        with pytest.raises(InvalidArgumentError, match=r"index 0 .* step 2's own"):
            dataset.report_latency(step, others)
    series = 'evenpack_job_measured_over_predicted_ratio_count{job="run"}'
    assert server.metric(series) == 6
    with _local() as local:
        local.report_latency(next(iter(local)), 0, forward_ns=1)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"spec": {}}, "lengths: None .* accepted: one, without address"),
        ({"address": "localhost:1"}, "job: None .* accepted: one, with address"),
        (
            {"address": "localhost:1", "job": "a", "spec": {}},
            "spec: dict .* accepted: None, with address",
        ),
        ({"lengths": [1], "job": "a"}, "job: str .* accepted: None, without address"),
        ({"lengths": [1], "dp_rank": -1}, "dp_rank: -1 .* accepted: 0 to 4294967295"),
        (
            {"address": "localhost:1", "job": "a", "dp_rank": "0"},
            "dp_rank: '0' .* accepted: an integer",
        ),
        (
            {"address": "localhost:1", "job": "a", "cp_rank": 1 << 32},
            "cp_rank: 4294967296 .* accepted: 0 to 4294967295",
        ),
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(
    arguments: dict[str, Any], named: str
) -> None:
    """Of both forms, rather than one of them be passed over; ranks of no job."""
    with pytest.raises(InvalidArgumentError, match=named):
        PackedDataset(**arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"spec": None}, "spec: None"),
        ({"spec": example_jobs.spec(window=0)}, r"spec.window: 0"),
        ({"lengths": {"code": [1]}}, r"\['code'\] .* accepted: \['text'\]"),
        ({"lengths": [0]}, r"length\[0\]: 0|lengths\[0\]: 0"),
        ({"checkpoint": b"junk"}, "state: 4 bytes"),
    ],
)
def test_what_the_engine_refuses_is_named(
    arguments: dict[str, Any], named: str
) -> None:
    """When the first step is asked for."""
    with pytest.raises((InvalidArgumentError, DataLossError), match=named):
        next(iter(_local(**arguments)))


def test_a_layout_that_there_is_not_is_refused(client: Client) -> None:
    """With those that there are."""
    with pytest.raises(InvalidArgumentError, match=r"'thd' .* accepted: native, mega"):
        next(iter(_served(client, layout="thd")))


def test_a_layout_that_the_job_does_not_have_is_refused(client: Client) -> None:
    """Padding is the job's business."""
    with pytest.raises(FailedPreconditionError, match="native"):
        next(iter(_served(client, layout="megatron_thd")))


def test_a_job_that_there_is_not(server: ServerProcess) -> None:
    """NOT_FOUND is final."""
    dataset = PackedDataset(server.grpc_address, job="none")
    with pytest.raises(NotFoundError, match="none"):
        next(iter(dataset))


def test_no_server_is_unavailable_once_patience_ends() -> None:
    """Not before, and not for ever."""
    options = ServerOptions(patience_seconds=0.2)
    dataset = PackedDataset("127.0.0.1:1", job="run", options=options)
    with pytest.raises(UnavailableError):
        next(iter(dataset))
