"""Tests of PackedDataset.ack_durable() with a server."""

from __future__ import annotations

import signal
from contextlib import suppress
from itertools import islice
from pathlib import Path

import example_jobs
import pytest
from evenpack import Client, PackedDataset, ServerOptions
from evenpack.errors import FailedPreconditionError, UnavailableError
from server_process import ServerProcess


@pytest.fixture
def client(server: ServerProcess) -> Client:
    """A client whose server has the job `run`, of some ten steps."""
    return example_jobs.client_of_fed_job(
        server.grpc_address, example_jobs.lengths(600)
    )


def _follow(
    client: Client, dp_rank: int = 0, *, sends_durable: bool = True
) -> PackedDataset:
    options = ServerOptions(sends_durable=sends_durable)
    return PackedDataset(client.address, job="run", dp_rank=dp_rank, options=options)


def test_steps_are_durable_once_every_rank_said_so(client: Client) -> None:
    """And not before."""
    datasets = [_follow(client, rank) for rank in range(2)]
    for rank, dataset in enumerate(datasets):
        list(islice(dataset, 5))
        dataset.ack_durable(2)
        dataset.close()
        assert client.get_job("run").durable_steps == (0 if rank == 0 else 3)


def test_a_mark_is_sent_where_there_is_no_subscription(client: Client) -> None:
    """The steps came in a worker's process; this one has the step alone."""
    with _follow(client) as dataset:
        step = next(iter(dataset))
    other = _follow(client)
    with pytest.raises(FailedPreconditionError, match=r"step: 0 .*; accepted: a Step"):
        other.ack_durable(0)
    other.ack_durable(step)
    assert client.get_job("run").durable_steps_per_rank[0] == 1


def test_a_mark_that_a_lost_server_had_not_confirmed_is_sent_again(
    tmp_path: Path,
) -> None:
    """The job has decided all that it may without it."""
    store = f"sqlite:{tmp_path / 'jobs'}"
    lengths = example_jobs.lengths(600)
    with ServerProcess("--store", store) as server:
        client = Client(server.grpc_address)
        spec = example_jobs.spec(
            parallelism={"data": 1}, retention={"max_steps_ahead": 4}
        )
        client.create_job("run", spec)
        producer = client.producer("run", "text")
        producer.add(lengths)
        options = ServerOptions(patience_seconds=1)
        dataset = PackedDataset(server.grpc_address, job="run", options=options)
        list(islice(dataset, 2))
        # Two more may be here already, and none is decided behind those.
        server.signal(signal.SIGKILL)
        server.wait()
        with suppress(UnavailableError):  # where that is known already
            dataset.ack_durable()
        rest: list[int] = []
        with pytest.raises(UnavailableError):
            rest.extend(step.index for step in dataset)
        with ServerProcess("--store", store, listen=server.grpc_address):
            rest.extend(step.index for step in islice(dataset, 4 - len(rest)))
            assert rest == [2, 3, 4, 5]
            assert client.get_job("run").durable_steps == 2
            dataset.cancel()


def test_a_state_that_is_loaded_has_no_mark_of_before(tmp_path: Path) -> None:
    """Or its steps might be let go of."""
    store = f"sqlite:{tmp_path / 'jobs'}"
    with ServerProcess("--store", store) as server:
        client = example_jobs.client_of_fed_job(
            server.grpc_address, example_jobs.lengths(600)
        )
        options = ServerOptions(patience_seconds=0)
        dataset = PackedDataset(server.grpc_address, job="run", options=options)
        first, *_ = islice(dataset, 3)
        state = dataset.state_dict(first)
        server.signal(signal.SIGKILL)
        server.wait()
        with suppress(UnavailableError):  # where that is known already
            dataset.ack_durable()
        dataset.load_state_dict(state)
        with ServerProcess("--store", store, listen=server.grpc_address):
            assert next(iter(dataset)).index == 1
            assert client.get_job("run").durable_steps_per_rank[0] == 0
            dataset.cancel()


def test_a_step_of_before_the_subscription_is_marked(client: Client) -> None:
    """Whose checkpoint took longer to write than the one that gave it lasted."""
    with _follow(client) as dataset:
        steps = list(islice(dataset, 3))
        dataset.cancel()
        list(islice(dataset, 2))
        accepted = "accepted: 2 to 4, the steps that were handed out, or a Step"
        with pytest.raises(FailedPreconditionError, match=f"step: 1 .*; {accepted}"):
            dataset.ack_durable(1)
        dataset.ack_durable(steps[1])
        assert client.get_job("run").durable_steps_per_rank[0] == 2


def test_a_dataset_that_does_not_mark_says_so(client: Client) -> None:
    """One per rank does."""
    with _follow(client, sends_durable=False) as dataset:
        next(iter(dataset))
        with pytest.raises(FailedPreconditionError, match="sends_durable"):
            dataset.ack_durable()
        dataset.cancel()
        with pytest.raises(FailedPreconditionError, match="sends_durable"):
            dataset.ack_durable()
