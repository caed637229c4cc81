"""Tests of evenpack.data_parallel_ranks, and of a dataset that is told of them."""

from __future__ import annotations

import pickle
from itertools import islice

import example_jobs
import pytest
from evenpack import Client, PackedDataset, ServerOptions
from evenpack.data_parallel_ranks import DataParallelRanks
from evenpack.errors import InvalidArgumentError
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(600)
ONE_RANK = {"parallelism": {"micro_batches_per_rank": 4, "context": 2}}


def _local(dp_size: int | None, **changes: object) -> PackedDataset:
    return PackedDataset(
        spec=example_jobs.spec(**changes), lengths=DOCUMENTS, dp_size=dp_size
    )


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", 1 << 32])
def test_what_is_no_number_of_ranks_is_refused(size: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^dp_size: .* is not accepted"):
        DataParallelRanks("dp_size", size)


def test_a_job_of_more_ranks_or_fewer_than_the_trainer_has_is_refused() -> None:
    """Nobody would take the micro-batches of some, or some are none's."""
    for size in (1, 3):
        with pytest.raises(InvalidArgumentError) as refused:
            next(iter(_local(size)))
        assert refused.value.message == (
            f"dp_size: {size} is not accepted; accepted: 2, the job's data-parallel "
            "ranks"
        )
    with pytest.raises(InvalidArgumentError, match="accepted: 1, the job's"):
        next(iter(_local(2, **ONE_RANK)))


def test_a_job_of_the_trainers_ranks_comes_whole() -> None:
    """As without the comparison; where the spec leaves the number out, it is 1."""
    for size, changes in ((2, {}), (1, ONE_RANK)):
        dataset = pickle.loads(pickle.dumps(_local(size, **changes)))
        found = [step.digest for step in dataset]
        assert found == [step.digest for step in _local(None, **changes)]


def test_a_run_that_goes_on_with_fewer_ranks_is_told_before_a_step_is_lost(
    server: ServerProcess,
) -> None:
    """Where its job was not given their shape; behind that it has all of them."""
    client = Client(server.grpc_address)
    client.create_job("run", example_jobs.spec())
    example_jobs.feed(client, "run", DOCUMENTS)
    first = PackedDataset(server.grpc_address, job="run", dp_size=2)
    digests = [step.digest for step in islice(first, 3)]
    options = ServerOptions(follow_epochs=True)
    dataset = PackedDataset(server.grpc_address, job="run", dp_size=1, options=options)
    dataset.load_state_dict(first.state_dict())
    with pytest.raises(InvalidArgumentError, match="dp_size: 1 is not accepted"):
        next(iter(dataset))
    client.update_job("run", example_jobs.spec(**ONE_RANK), from_step=3)
    local = _local(None)
    assert [step.digest for step in islice(local, 3)] == digests
    other = _local(None, **ONE_RANK)
    other.load_state_dict(local.state_dict())
    assert [step.digest for step in dataset] == [step.digest for step in other]
