"""PackedDataset under PyTorch's DataLoader and torchdata's StatefulDataLoader."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import example_jobs
import pytest
from evenpack import Client, MicroBatch, PackedDataset, ServerOptions, Slices, Step
from evenpack.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from server_process import ServerProcess

data = pytest.importorskip("torch.utils.data")
stateful = pytest.importorskip("torchdata.stateful_dataloader")

Loader = TypeVar("Loader")
DOCUMENTS = example_jobs.lengths(1500)


def _local() -> PackedDataset:
    return PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS, dp_rank=1)


@pytest.fixture
def served(server: ServerProcess) -> PackedDataset:
    """Of a server's job with the same documents."""
    example_jobs.client_of_fed_job(server.grpc_address, DOCUMENTS)
    return PackedDataset(server.grpc_address, job="run", dp_rank=1)


def _digests(steps: Iterable[Step]) -> list[bytes]:
    return [step.digest for step in steps]


EXPECTED = _digests(_local())


def _loader(
    kind: Callable[..., Loader], dataset: Iterable[object], workers: int, **more: object
) -> Loader:
    """Whose worker is no fork of this process, as gRPC asks for, unless it is to be."""
    if workers:
        more.setdefault("multiprocessing_context", "forkserver")
    return kind(dataset, batch_size=None, num_workers=workers, **more)


@pytest.mark.parametrize("start", [None, "spawn", "forkserver"])
def test_a_loader_gives_the_same_steps(
    served: PackedDataset, start: str | None
) -> None:
    """In the trainer's process or in one worker."""
    workers = 0 if start is None else 1
    for dataset in (_local(), served):
        loader = _loader(
            data.DataLoader, dataset, workers, multiprocessing_context=start
        )
        assert _digests(loader) == EXPECTED


class _MicroBatches(data.IterableDataset):  # type: ignore[misc, name-defined]
    """A trainer's own dataset, of micro-batches with their slices."""

    def __init__(self, steps: PackedDataset) -> None:
        super().__init__()
        self._steps = steps

    def __iter__(self) -> Iterator[tuple[MicroBatch, Slices]]:
        for step in self._steps:
            for micro_batch in step:
                yield micro_batch, micro_batch.slices(1)


def test_a_worker_hands_over_micro_batches(served: PackedDataset) -> None:
    """And slices, as a trainer's own dataset makes them of steps."""
    expected = [
        (micro_batch.digest, micro_batch.slices(1).token_indices.tolist())
        for step in _local()
        for micro_batch in step
    ]
    for dataset in (_local(), served):
        loader = _loader(data.DataLoader, _MicroBatches(dataset), 1)
        found = [(one.digest, part.token_indices.tolist()) for one, part in loader]
        assert found == expected


SEVERAL_WORKERS = """
from torch.utils.data import DataLoader
from evenpack import PackedDataset
from evenpack.errors import InvalidArgumentError
spec = {"streams": [{"name": "text"}], "window": 8}
dataset = PackedDataset(spec=spec, lengths=[5, 3])
try:
    list(DataLoader(dataset, batch_size=None, num_workers=2))
except InvalidArgumentError as error:
    print(error)
"""


def test_more_workers_are_refused_with_the_reason() -> None:
    """Each would have the rank's whole stream."""
    # In a process of its own: PyTorch may make a second worker's end an error of
    # whatever runs at that moment.
    run = subprocess.run(
        [sys.executable, "-c", SEVERAL_WORKERS],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "num_workers: 2 is not accepted; accepted: 0 or 1" in run.stdout, run.stderr


BROADCAST_IN_WORKER = """
import torch.distributed as dist
from torch.utils.data import DataLoader
from evenpack import PackedDataset
from evenpack.errors import InvalidArgumentError
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dataset = PackedDataset("127.0.0.1:1", job="run", broadcast_group=dist.group.WORLD)
loader = DataLoader(
    dataset, batch_size=None, num_workers=1, multiprocessing_context="fork"
)
try:
    list(loader)
except InvalidArgumentError as error:
    print(error)
"""


def test_a_worker_is_refused_with_a_broadcast_group() -> None:
    """Its copy of the group would wait for ever."""
    run = subprocess.run(
        [sys.executable, "-c", BROADCAST_IN_WORKER],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    expected = "num_workers: 1 is not accepted; accepted: 0 with broadcast_group"
    assert expected in run.stdout, run.stderr


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stateful_loader_resumes_behind_the_last_step(
    served: PackedDataset, workers: int
) -> None:
    """However far its worker was ahead."""
    for dataset, again in ((_local(), _local()), (served, served)):
        loader = _loader(stateful.StatefulDataLoader, dataset, workers)
        assert _digests(islice(loader, 6)) == EXPECTED[:6]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        del loader
        resumed = _loader(stateful.StatefulDataLoader, again, workers)
        resumed.load_state_dict(state)
        assert _digests(resumed) == EXPECTED[6:]


class _ResumedMicroBatches(_MicroBatches):
    """One that hands on the state of the steps."""

    def state_dict(self) -> dict[str, Any]:
        return self._steps.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._steps.load_state_dict(state)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stateful_loader_of_a_trainers_own_dataset_resumes_behind_a_step(
    served: PackedDataset, workers: int
) -> None:
    """Of marked steps too, which a job doesn't give again: nothing is passed over."""
    expected = [micro_batch.digest for step in _local() for micro_batch in step]
    assert served._served is not None
    address = served._served.address
    again = PackedDataset(address, job="run", dp_rank=1)
    for dataset, other in ((_local(), _local()), (served, again)):
        first = _ResumedMicroBatches(dataset)
        loader = _loader(stateful.StatefulDataLoader, first, workers)
        assert [one.digest for one, _ in islice(loader, 12)] == expected[:12]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        del loader
        if dataset is served:
            Client(address).acknowledge("run", 1, 5, 0)
        second = _ResumedMicroBatches(other)
        resumed = _loader(stateful.StatefulDataLoader, second, workers)
        resumed.load_state_dict(state)
        assert [one.digest for one, _ in resumed] == expected[12:]


@pytest.mark.parametrize("kind", [data.DataLoader, stateful.StatefulDataLoader])
def test_a_persistent_worker_does_not_lose_what_it_has_fetched_ahead(
    served: PackedDataset, kind: Callable[..., Iterable[Step]]
) -> None:
    """Of a loop that was left early."""
    for dataset in (_local(), served):
        loader = _loader(kind, dataset, 1, persistent_workers=True)
        assert _digests(islice(loader, 6)) == EXPECTED[:6]
        with pytest.raises(FailedPreconditionError, match="persistent_workers: True"):
            next(iter(loader))


class _FailsOnce:
    """A corpus of which the first process that comes to a document can't read it."""

    def __init__(self, document: int) -> None:
        self._document = document
        self.failed = multiprocessing.get_context("forkserver").Event()

    def __iter__(self) -> Iterator[int]:
        for number, length in enumerate(DOCUMENTS.tolist()):
            if number == self._document and not self.failed.is_set():
                self.failed.set()
                raise OSError("disk")
            yield length


def test_a_persistent_worker_that_failed_ahead_does_not_lose_what_it_had_fetched() -> (
    None
):
    """Of a loop that was left before the error came to the trainer."""
    corpus = _FailsOnce(1499)
    failing = PackedDataset(spec=example_jobs.spec(), lengths=corpus, dp_rank=1)
    with pytest.raises(OSError, match="disk"):
        list(failing)
    given = failing.state_dict()["next_step"]
    corpus.failed.clear()
    dataset = PackedDataset(spec=example_jobs.spec(), lengths=corpus, dp_rank=1)
    loader = _loader(data.DataLoader, dataset, 1, persistent_workers=True)
    assert _digests(islice(loader, given - 1)) == EXPECTED[: given - 1]
    assert corpus.failed.wait(timeout=60)
    with pytest.raises(FailedPreconditionError, match="left early or failed"):
        next(iter(loader))


def test_a_persistent_worker_does_not_pass_over_a_state_that_was_loaded() -> None:
    """By the trainer's dataset, which went back."""
    dataset = _local()
    before = dataset.state_dict()
    loader = _loader(
        data.DataLoader,
        dataset,
        1,
        persistent_workers=True,
        multiprocessing_context="fork",
    )
    assert _digests(loader) == EXPECTED
    dataset.load_state_dict(before)
    with pytest.raises(FailedPreconditionError, match="of which the worker does not"):
        next(iter(loader))


def test_a_persistent_worker_serves_loops_that_run_to_the_end() -> None:
    """The second has nothing to come."""
    loader = _loader(data.DataLoader, _local(), 1, persistent_workers=True)
    assert _digests(loader) == EXPECTED
    assert _digests(loader) == []


def test_a_persistent_worker_goes_on_from_its_loaders_state(
    served: PackedDataset,
) -> None:
    """Behind what the trainer took, time and again."""
    for dataset in (_local(), served):
        loader = _loader(
            stateful.StatefulDataLoader, dataset, 1, persistent_workers=True
        )
        digests = []
        for steps in (6, 2, 5):
            digests += _digests(islice(loader, steps))
            loader.load_state_dict(pickle.loads(pickle.dumps(loader.state_dict())))
        assert digests + _digests(loader) == EXPECTED


def test_a_loaders_state_is_for_as_many_workers() -> None:
    """As torchdata has it; the dataset's own state is for any."""
    for workers in (0, 1):
        loader = _loader(stateful.StatefulDataLoader, _local(), workers)
        next(iter(loader))
        other = _loader(stateful.StatefulDataLoader, _local(), 1 - workers)
        other.load_state_dict(loader.state_dict())
        with pytest.raises(AssertionError, match="expected for"):
            next(iter(other))


def test_a_loop_that_was_left_early_does_not_come_again(served: PackedDataset) -> None:
    """Without a word: the next worker's copy of the dataset is of before it."""
    loader = _loader(data.DataLoader, served, 1)
    steps = list(islice(loader, 3))
    for again in (loader, served):
        with pytest.raises(FailedPreconditionError, match="would come again"):
            next(iter(again))
    served.load_state_dict(served.state_dict(steps[-1]))
    assert _digests(loader) == EXPECTED[3:]


@pytest.mark.parametrize("kind", [data.DataLoader, stateful.StatefulDataLoader])
def test_a_state_of_before_a_loop_has_it_come_again(
    kind: Callable[..., Iterable[Step]],
) -> None:
    """One that was left early, say to look at a step."""
    dataset = _local()
    before = dataset.state_dict()
    loader = _loader(kind, dataset, 1, multiprocessing_context="fork")
    assert _digests(islice(loader, 3)) == EXPECTED[:3]
    with pytest.raises(FailedPreconditionError, match="would come again"):
        next(iter(loader))
    dataset.load_state_dict(before)
    assert _digests(loader) == EXPECTED


def test_a_loop_that_failed_does_not_come_again() -> None:
    """Its error was raised once."""
    corpus = _FailsOnce(1499)
    dataset = PackedDataset(spec=example_jobs.spec(), lengths=corpus, dp_rank=1)
    loader = _loader(data.DataLoader, dataset, 1, multiprocessing_context="fork")
    with pytest.raises(OSError, match="disk"):
        list(loader)
    with pytest.raises(FailedPreconditionError, match="would come again"):
        next(iter(loader))


def test_a_trainer_that_goes_on_itself_knows_where_it_is() -> None:
    """Behind a worker's loop that ended."""
    dataset = _local()
    loader = _loader(data.DataLoader, dataset, 1, multiprocessing_context="fork")
    assert _digests(loader) == EXPECTED
    assert next(iter(dataset)).digest == EXPECTED[0]
    assert dataset.state_dict()["next_step"] == 1


def test_a_loop_that_ended_comes_again() -> None:
    """From where the dataset is, as an epoch of the same documents."""
    loader = _loader(data.DataLoader, _local(), 1, multiprocessing_context="fork")
    assert _digests(loader) == EXPECTED
    assert _digests(loader) == EXPECTED


def test_a_worker_goes_on_where_the_trainer_was(served: PackedDataset) -> None:
    """With a connection of its own."""
    for dataset in (_local(), served):
        assert next(iter(dataset)).digest == EXPECTED[0]
        assert _digests(_loader(data.DataLoader, dataset, 1)) == EXPECTED[1:]


def test_a_forked_worker_has_the_engine_and_refuses_a_connection(
    served: PackedDataset,
) -> None:
    """Which would hang: this process has had one."""
    for dataset in (_local(), served):
        assert next(iter(dataset)).digest == EXPECTED[0]
        loader = data.DataLoader(
            dataset, batch_size=None, num_workers=1, multiprocessing_context="fork"
        )
        if dataset is served:
            with pytest.raises(FailedPreconditionError, match="'spawn'"):
                list(loader)
        else:
            assert _digests(loader) == EXPECTED[1:]


def test_a_step_from_a_worker_is_marked_by_the_trainer(served: PackedDataset) -> None:
    """The subscription is the worker's."""
    loader = _loader(data.DataLoader, served, 1)
    steps: list[Step] = list(islice(loader, 3))
    served.ack_durable(steps[1])
    assert served._served is not None
    job = Client(served._served.address).get_job("run")
    assert job.durable_steps_per_rank[1] == 2


def test_a_workers_step_is_marked_beside_a_subscription_whose_claim_it_took(
    served: PackedDataset,
) -> None:
    """The trainer had looked at a step itself."""
    assert next(iter(served)).index == 0
    steps: list[Step] = list(islice(_loader(data.DataLoader, served, 1), 2))
    served.ack_durable(steps[1])
    assert served._served is not None
    job = Client(served._served.address).get_job("run")
    assert job.durable_steps_per_rank[1] == 3


def test_a_step_of_another_rank_is_not_marked_by_this_one(
    served: PackedDataset,
) -> None:
    """Who then begins anew would not be given the steps up to it."""
    assert served._served is not None
    address = served._served.address
    other = next(iter(PackedDataset(address, job="run", dp_rank=0)))
    with pytest.raises(InvalidArgumentError) as refused:
        served.ack_durable(other)
    assert refused.value.message == (
        "step: one of dp_rank 0 is not accepted; accepted: one of dp_rank 1"
    )
    assert next(iter(served)).index == 0


def test_an_error_of_a_worker_says_what_it_says_in_the_trainer(
    served: PackedDataset,
) -> None:
    """Callers go by its reason, and PyTorch takes nothing but its text along."""
    assert served._served is not None
    client = Client(served._served.address)
    dataset = PackedDataset(
        client.address,
        job="run",
        dp_rank=1,
        options=ServerOptions(credits=1, max_buffered_bytes=1),
    )
    steps = iter(_loader(data.DataLoader, dataset, 1, prefetch_factor=1))
    next(steps)
    shape = {"data": 2, "micro_batches_per_rank": 4, "context": 2}
    client.update_job("run", example_jobs.spec(parallelism=shape), from_step=1)
    with pytest.raises(AbortedError, match="DataLoader worker") as ended:
        list(steps)
    assert ended.value.reason == "EPOCH_ENDED"
    assert ended.value.metadata["from_step"] == "1"


def test_a_step_from_a_worker_is_where_to_go_on(served: PackedDataset) -> None:
    """Of a server's job; an engine's checkpoint is in the worker."""
    steps = list(islice(_loader(data.DataLoader, served, 1), 3))
    for call in (served.state_dict, served.ack_durable):
        with pytest.raises(FailedPreconditionError, match="step: None is not accepted"):
            call()
    served.load_state_dict(served.state_dict(steps[1]))
    assert _digests(served) == EXPECTED[2:]
    local = _local()
    steps = list(islice(_loader(data.DataLoader, local, 1), 3))
    with pytest.raises(FailedPreconditionError, match="step: its checkpoint is in"):
        local.state_dict(steps[1])
    # Where the engine is, any of its steps is.
    local = _local()
    steps = list(islice(local, 3))
    local.load_state_dict(local.state_dict(steps[1]))
    assert _digests(local) == EXPECTED[2:]
