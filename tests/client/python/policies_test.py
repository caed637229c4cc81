"""Every policy decides the same in the trainer's process and on a server."""

from __future__ import annotations

import pickle
from itertools import islice

import example_jobs
import pytest
from evenpack import Client, PackedDataset
from evenpack.v1 import job_pb2
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(3000)
RANKS = 2
# Steps taken where a run is moved.
TAKEN = 7

policies = pytest.mark.parametrize("policy", example_jobs.POLICIES)


def _local(policy: str, dp_rank: int = 0) -> PackedDataset:
    spec = example_jobs.spec(**example_jobs.POLICIES[policy])
    return PackedDataset(spec=spec, lengths=DOCUMENTS, dp_rank=dp_rank)


def _start(server: ServerProcess, policy: str) -> Client:
    return example_jobs.client_of_fed_job(
        server.grpc_address, DOCUMENTS, **example_jobs.POLICIES[policy]
    )


def _served(client: Client, dp_rank: int = 0) -> PackedDataset:
    return PackedDataset(client.address, job="run", dp_rank=dp_rank)


def _bytes(dataset: PackedDataset) -> list[bytes]:
    return [step.to_bytes() for step in dataset]


@policies
def test_a_server_sends_what_the_engine_here_decides(
    server: ServerProcess, policy: str
) -> None:
    """To the byte, to every rank, and every document once."""
    client = _start(server, policy)
    tokens = 0
    sequences: set[int] = set()
    for rank in range(RANKS):
        with _served(client, rank) as served:
            assert _bytes(served) == _bytes(_local(policy, rank))
        for step in _local(policy, rank):
            for i in range(len(step)):
                sequences.update(step[i].sequence.tolist())
                tokens += int(step[i].length.sum())
    assert sequences == set(range(len(DOCUMENTS)))
    assert tokens == DOCUMENTS.sum()


@policies
def test_a_run_goes_on_where_its_state_was(policy: str) -> None:
    """What waits, and what is known of the stream, is part of it."""
    undisturbed = _bytes(_local(policy))
    first = _local(policy)
    list(islice(first, TAKEN))
    resumed = _local(policy)
    resumed.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert _bytes(resumed) == undisturbed[TAKEN:]


@policies
def test_a_run_moves_to_a_server_and_back(server: ServerProcess, policy: str) -> None:
    """Twice, in the middle."""
    undisturbed = _bytes(_local(policy))
    here = _local(policy)
    list(islice(here, TAKEN))
    state = here.state_dict()
    client = Client(server.grpc_address)
    client.restore_job("run", state["checkpoint"])
    example_jobs.feed(client, "run", DOCUMENTS)
    with _served(client) as there:
        there.load_state_dict(state)
        taken = [step.to_bytes() for step in islice(there, TAKEN)]
        state = there.state_dict()
    assert taken == undisturbed[TAKEN : 2 * TAKEN]
    state["checkpoint"] = client.checkpoint_job("run", 2 * TAKEN - 1).checkpoint
    again = _local(policy)
    again.load_state_dict(state)
    assert _bytes(again) == undisturbed[2 * TAKEN :]


def test_a_job_says_what_its_policy_was_given(server: ServerProcess) -> None:
    """By name and number, as the spec has them."""
    job = _start(server, "hybrid").get_job("run")
    assert job.spec.policy.balanced.virtual_stages == 2
    assert job.spec.sharding == job_pb2.SHARDING_HYBRID
