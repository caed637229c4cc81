"""Tests of PackedDataset.ack_durable() right after load_state_dict()."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import example_jobs
import pytest
from evenpack import Client, PackedDataset, ServerOptions, Step
from evenpack.errors import DataLossError, FailedPreconditionError, OutOfRangeError
from server_process import ServerProcess
from torch_ranks import run_ranks

DOCUMENTS = example_jobs.lengths(600)


@pytest.fixture
def client(server: ServerProcess) -> Client:
    """A client whose server has the job `run`, of some ten steps."""
    return example_jobs.client_of_fed_job(server.grpc_address, DOCUMENTS)


def _follow(
    address: str,
    dp_rank: int = 0,
    cp_rank: int | None = None,
    *,
    sends_durable: bool = True,
) -> PackedDataset:
    options = ServerOptions(sends_durable=sends_durable)
    return PackedDataset(
        address, job="run", dp_rank=dp_rank, cp_rank=cp_rank, options=options
    )


def _state_behind(client: Client, steps: int, *, marked: int = 0) -> dict[str, Any]:
    """Of a run that was killed behind so many steps, of which it has marked some."""
    for dp_rank in range(2):
        with _follow(client.address, dp_rank) as dataset:
            list(islice(dataset, steps))
            if marked:
                dataset.ack_durable(marked - 1)
            state = dataset.state_dict()
    return state


def _durable(client: Client) -> list[int]:
    return list(client.get_job("run").durable_steps_per_rank)


def test_each_rank_marks_the_state_that_it_loaded(client: Client) -> None:
    """And goes on behind it."""
    state = _state_behind(client, 4, marked=2)
    for dp_rank in range(2):
        with _follow(client.address, dp_rank) as dataset:
            dataset.load_state_dict(state)
            dataset.ack_durable()
            assert _durable(client) == [4, 4 if dp_rank else 2]
            assert next(iter(dataset)).index == 4
    assert client.get_job("run").durable_steps == 4


def test_of_the_context_parallel_ranks_those_that_mark_do(client: Client) -> None:
    """The others are told that they don't."""
    state = _state_behind(client, 4)
    with (
        _follow(client.address, 1, 0) as marks,
        _follow(client.address, 1, 1, sends_durable=False) as other,
    ):
        for dataset in (marks, other):
            dataset.load_state_dict(state)
        marks.ack_durable()
        with pytest.raises(FailedPreconditionError, match="sends_durable: False"):
            other.ack_durable()
        assert [next(iter(dataset)).index for dataset in (marks, other)] == [4, 4]
    assert _durable(client) == [0, 4]


def test_a_state_behind_the_jobs_mark_takes_nothing_back(client: Client) -> None:
    """Of an older checkpoint, where the other rank has not marked the newer one."""
    state = _state_behind(client, 3)
    with _follow(client.address) as dataset:
        list(islice(dataset, 5))
        dataset.ack_durable()
    with _follow(client.address) as dataset:
        dataset.load_state_dict(state)
        dataset.ack_durable()
        assert _durable(client) == [5, 0]
        assert next(iter(dataset)).index == 3


def test_a_state_whose_next_steps_were_let_go_is_refused(client: Client) -> None:
    """As it would be by the first step: every rank has marked a newer checkpoint."""
    state = _state_behind(client, 3)
    _state_behind(client, 5, marked=5)
    with _follow(client.address) as dataset:
        dataset.load_state_dict(state)
        with pytest.raises(OutOfRangeError) as refused:
            dataset.ack_durable()
        assert refused.value.reason == "STEP_LET_GO"


def test_a_state_of_before_the_first_step_has_nothing_to_mark(client: Client) -> None:
    """Though without one it is refused: nothing says where the dataset is."""
    with _follow(client.address) as dataset:
        with pytest.raises(FailedPreconditionError, match="step: None"):
            dataset.ack_durable()
        dataset.load_state_dict(_follow(client.address).state_dict())
        dataset.ack_durable()
        assert _durable(client) == [0, 0]
        assert next(iter(dataset)).index == 0


def test_a_state_of_another_history_is_not_marked(client: Client) -> None:
    """Or ranks that then begin without one would lack the steps before it."""
    state = _state_behind(client, 4)
    with _follow(client.address) as dataset:
        dataset.load_state_dict(state | {"digest": bytes(16)})
        with pytest.raises(DataLossError, match="another history"):
            dataset.ack_durable()
        assert _durable(client) == [0, 0]


def test_a_state_of_before_a_reshape_is_marked(client: Client) -> None:
    """In the epoch of its last step."""
    state = _state_behind(client, 4)
    shape = {"data": 2, "micro_batches_per_rank": 4, "context": 2}
    client.update_job("run", example_jobs.spec(parallelism=shape), from_step=4)
    for dp_rank in range(2):
        with _follow(client.address, dp_rank) as dataset:
            dataset.load_state_dict(state)
            dataset.ack_durable()
            assert len(next(iter(dataset))) == 4
    assert client.get_job("run").durable_steps == 4


def test_the_engine_in_the_process_has_nothing_to_be_told() -> None:
    """Its checkpoint is in the state."""

    def local() -> PackedDataset:
        return PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS)

    first = local()
    expected = [step.digest for step in local()]
    for steps in (0, 4):
        list(islice(first, steps))
        other = local()
        other.load_state_dict(first.state_dict())
        other.ack_durable()
        assert [step.digest for step in other] == expected[steps:]


def _load_and_follow(address: str, state: dict[str, Any]) -> None:
    import torch.distributed as dist

    dataset = PackedDataset(
        address, job="run", dp_rank=1, broadcast_group=dist.group.WORLD
    )
    dataset.load_state_dict(state)
    dataset.ack_durable()
    assert next(iter(dataset)).index == 4
    dataset.close()


def test_of_a_broadcast_group_each_rank_may_mark(client: Client) -> None:
    """The one that subscribes sends it."""
    pytest.importorskip("torch")
    state = _state_behind(client, 4)
    run_ranks(2, _load_and_follow, client.address, state)
    assert _durable(client) == [0, 4]


@pytest.mark.parametrize("stateful", [False, True])
def test_a_loaders_worker_goes_on_behind_what_the_trainer_marked(
    client: Client, stateful: bool
) -> None:
    """The dataset is told where it is; a loader's own state may say so besides."""
    torch_data = pytest.importorskip("torch.utils.data")
    torchdata = pytest.importorskip("torchdata.stateful_dataloader")
    given = {
        "batch_size": None,
        "num_workers": 1,
        "multiprocessing_context": "forkserver",
    }
    kind = partial(
        torchdata.StatefulDataLoader if stateful else torch_data.DataLoader, **given
    )
    dataset = _follow(client.address)
    loader = kind(dataset)
    steps: list[Step] = list(islice(loader, 4))
    saved = {"dataset": dataset.state_dict(steps[-1])}
    if stateful:
        saved["loader"] = loader.state_dict()
    del loader
    dataset = _follow(client.address)
    dataset.load_state_dict(saved["dataset"])
    dataset.ack_durable()
    assert _durable(client) == [4, 0]
    loader = kind(dataset)
    if stateful:
        loader.load_state_dict(saved["loader"])
    assert next(iter(loader)).index == 4
