"""Tests of evenpack.broadcast_steps: a subscription for a group of ranks."""

from __future__ import annotations

from itertools import islice
from typing import Any

import example_jobs
import numpy as np
import pytest
from evenpack import Client, PackedDataset
from evenpack.corpora import SequenceCorpus
from evenpack.errors import InvalidArgumentError, NotFoundError
from evenpack.ingest import ingest
from example_payloads import dataset as open_dataset
from server_process import ServerProcess
from torch_ranks import run_ranks

pytest.importorskip("torch")

DOCUMENTS = example_jobs.lengths(600)


def _expected() -> list[bytes]:
    local = PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS, dp_rank=1)
    return [step.to_bytes() for step in local]


def _follow(address: str) -> None:
    import torch.distributed as dist

    rank = dist.get_rank()
    # Ranks 1 and 2 are a group: its first rank is not the first of all.
    group = dist.new_group([1, 2])
    if not isinstance(group, dist.ProcessGroup):  # of which this rank is not
        return
    dataset = PackedDataset(address, job="run", dp_rank=1, broadcast_group=group)
    expected = _expected()
    first = list(islice(dataset, 3))
    dataset.ack_durable()
    state = dataset.state_dict()
    assert [step.to_bytes() for step in [*first, *dataset]] == expected
    assert state["digest"] == first[-1].digest
    assert dataset.step_wait.steps_taken == (len(expected) if rank == 1 else 0)
    dataset.close()


def test_one_rank_subscribes_and_all_have_each_step(server: ServerProcess) -> None:
    """To the byte; the marks go through the one that subscribes."""
    client = example_jobs.client_of_fed_job(server.grpc_address, DOCUMENTS)
    run_ranks(3, _follow, server.grpc_address)
    assert client.get_job("run").durable_steps_per_rank[1] == 3


def _refused(address: str) -> None:
    import torch.distributed as dist

    dataset = PackedDataset(address, job="none", broadcast_group=dist.group.WORLD)
    with pytest.raises(NotFoundError, match="none"):
        next(iter(dataset))


def test_an_error_is_raised_on_all_ranks(server: ServerProcess) -> None:
    """None waits for a step that won't come."""
    run_ranks(2, _refused, server.grpc_address)


def _follow_own(address: str, expected: dict[int | None, list[bytes]]) -> None:
    import torch.distributed as dist

    cp_rank = list(expected)[dist.get_rank() % len(expected)]
    dataset = PackedDataset(
        address, job="run", cp_rank=cp_rank, broadcast_group=dist.group.WORLD
    )
    assert [step.to_bytes() for step in dataset] == expected[cp_rank]
    dataset.cancel()


@pytest.mark.parametrize("cp_ranks", [(1,), (None, 0, 1)])
def test_each_rank_has_the_slices_and_tokens_of_its_cp_rank(
    server: ServerProcess, cp_ranks: tuple[int | None, ...]
) -> None:
    """As if it had asked for them itself, to the byte; None: the whole."""
    client = Client(server.grpc_address)
    client.create_job("run", example_jobs.spec(payload_mode="PAYLOAD_MODE_BY_VALUE"))
    ids = np.arange(int(DOCUMENTS.sum()), dtype=np.uint32)
    corpus = SequenceCorpus(np.split(ids, np.cumsum(DOCUMENTS)[:-1]))
    with client.producer("run", "text") as producer:
        ingest(producer, corpus, by_value=True)
    expected = {}
    for cp_rank in cp_ranks:
        with open_dataset(server.grpc_address, (0, cp_rank)) as dataset:
            expected[cp_rank] = [step.to_bytes() for step in dataset]
    run_ranks(3, _follow_own, server.grpc_address, expected)


def _has_nothing(address: str) -> None:
    import torch.distributed as dist

    dataset = PackedDataset(
        address,
        job="run",
        dp_rank=1,
        cp_rank=dist.get_rank(),
        broadcast_group=dist.group.WORLD,
    )
    step = next(iter(dataset))
    assert (step.index, len(step)) == (0, 0)
    dataset.cancel()


def test_a_rank_that_came_later_has_nothing_of_the_steps_before(
    server: ServerProcess,
) -> None:
    """They keep the shape that they were decided in, of one DP rank."""
    shape = {"data": 1, "micro_batches_per_rank": 4, "context": 2}
    client = example_jobs.client_of_fed_job(
        server.grpc_address, DOCUMENTS, parallelism=shape
    )
    client.update_job("run", example_jobs.spec())
    run_ranks(2, _has_nothing, server.grpc_address)


def _open_anew(address: str, first: int) -> None:
    import torch.distributed as dist

    dataset = PackedDataset(
        address, job="run", dp_rank=1, broadcast_group=dist.group.WORLD
    )
    found = list(islice(dataset, 3))
    # One of them alone: the others go on as if nothing had been.
    if dist.get_rank() == first:
        dataset.cancel()
    assert [step.to_bytes() for step in [*found, *dataset]] == _expected()
    dataset.cancel()


@pytest.mark.parametrize("first", [0, 1])
def test_a_rank_may_open_its_steps_anew_by_itself(
    server: ServerProcess, first: int
) -> None:
    """The one that subscribes, or another."""
    example_jobs.client_of_fed_job(server.grpc_address, DOCUMENTS)
    run_ranks(2, _open_anew, server.grpc_address, first)


def _refuse_ranks(address: str) -> None:
    import torch.distributed as dist

    rank = dist.get_rank()
    for dp_rank, cp_rank, named in [
        (rank, None, "dp_rank: 1"),
        (0, rank, "cp_rank: 2"),
    ]:
        dataset = PackedDataset(
            address,
            job="run",
            dp_rank=dp_rank,
            cp_rank=cp_rank,
            broadcast_group=dist.group.WORLD,
        )
        with pytest.raises(InvalidArgumentError, match=named):
            next(iter(dataset))
        dataset.cancel()


def test_ranks_that_are_none_of_the_job_are_refused_on_all(
    server: ServerProcess,
) -> None:
    """Those of another DP rank, and of a CP rank that there isn't."""
    example_jobs.client_of_fed_job(server.grpc_address, DOCUMENTS)
    run_ranks(3, _refuse_ranks, server.grpc_address)


@pytest.mark.parametrize(("group", "shown"), [(1, "int"), ("dp", "str")])
def test_what_is_no_group_is_refused(group: object, shown: str) -> None:
    """Such as what new_group() gives those who are not of the group."""
    given: dict[str, Any] = {"broadcast_group": group}
    with pytest.raises(InvalidArgumentError) as caught:
        PackedDataset("a:1", job="run", **given)
    assert str(caught.value) == (
        f"broadcast_group: {shown} is not accepted; accepted: a "
        "torch.distributed.ProcessGroup that this rank is of, or None"
    )
