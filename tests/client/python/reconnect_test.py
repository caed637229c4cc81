"""A dataset and a producer whose server is killed and started again."""

from __future__ import annotations

import signal
from itertools import islice
from pathlib import Path

import example_jobs
from evenpack import Client, PackedDataset, ServerOptions
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(3000)


def _restarted(server: ServerProcess, store: str) -> ServerProcess:
    """The same server in a new process, after it was killed."""
    server.signal(signal.SIGKILL)
    server.wait()
    return ServerProcess("--store", store, listen=server.grpc_address)


def test_a_dataset_goes_on_behind_the_last_step_that_came(tmp_path: Path) -> None:
    """Without a word of it to the trainer: each step once, as if nothing had been."""
    undisturbed = PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS, dp_rank=1)
    expected = [step.digest for step in undisturbed]
    store = f"sqlite:{tmp_path / 'jobs'}"
    with ServerProcess("--store", store) as first:
        client = Client(first.grpc_address)
        client.create_job("run", example_jobs.spec())
        example_jobs.feed(client, "run", DOCUMENTS)
        # Few steps ahead, so that most come from the second server.
        options = ServerOptions(credits=1, max_buffered_bytes=1)
        dataset = PackedDataset(
            first.grpc_address, job="run", dp_rank=1, options=options
        )
        digests = [step.digest for step in islice(dataset, 5)]
        dataset.ack_durable()
        with _restarted(first, store):
            digests += [step.digest for step in dataset]
            dataset.ack_durable()
            dataset.close()
            assert client.get_job("run").durable_steps_per_rank[1] == len(expected)
    assert digests == expected


def test_a_producer_sends_again_what_was_not_accepted(tmp_path: Path) -> None:
    """And nothing twice."""
    store = f"sqlite:{tmp_path / 'jobs'}"
    with ServerProcess("--store", store) as first:
        client = Client(first.grpc_address)
        client.create_job("run", example_jobs.spec())
        producer = client.producer("run", "text")
        producer.add(DOCUMENTS[:1000])
        with _restarted(first, store):
            producer.add(DOCUMENTS[1000:])
            producer.end_of_stream()
            assert client.get_job("run").streams[0].next_sequence == len(DOCUMENTS)
            local = PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS)
            with PackedDataset(first.grpc_address, job="run") as served:
                assert [s.digest for s in served] == [s.digest for s in local]
