"""Token ids all the way: corpora, a server's streams, its steps, and the trainer."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import example_jobs
import numpy as np
import pytest
from evenpack import Client, MicroBatch, Producer
from evenpack.corpora import SequenceCorpus, gather
from evenpack.errors import InvalidArgumentError
from evenpack.ingest import ingest
from example_payloads import dataset as open_dataset
from example_payloads import micro_batches
from numpy.typing import NDArray
from server_process import ServerProcess

DOCUMENTS = {"web": 1600, "code": 800}
# Those of a data-parallel rank and its context-parallel group.
RANKS = [(dp_rank, cp_rank) for dp_rank in range(2) for cp_rank in range(2)]


def _corpora() -> dict[str, SequenceCorpus]:
    """By stream; token ids from 0 on, no two alike."""
    found = {}
    first = 0
    for seed, (name, count) in enumerate(DOCUMENTS.items()):
        ends = np.cumsum(example_jobs.lengths(count, seed)) + first
        ids = np.arange(first, ends[-1], dtype=np.uint32)
        found[name] = SequenceCorpus(np.split(ids, ends[:-1] - first))
        first = int(ends[-1])
    return found


CORPORA = _corpora()
TOKENS = sum(
    int(example_jobs.lengths(count, seed).sum())
    for seed, count in enumerate(DOCUMENTS.values())
)


def _spec(**changes: object) -> dict[str, Any]:
    """DP 2, CP 2, two streams that hold all documents."""
    fields: dict[str, Any] = {
        "streams": [{"name": name} for name in DOCUMENTS],
        "buffer_limits": {"max_tokens": 1 << 24},
        "payload_mode": "PAYLOAD_MODE_BY_VALUE",
    }
    return example_jobs.spec(**fields | changes)


def _feed(client: Client, documents: int | None = None) -> None:
    """Sends what each stream doesn't have yet: so many in all, or to the end."""
    for name, corpus in CORPORA.items():
        with client.producer("run", name) as producer:
            ingest(
                producer,
                corpus,
                documents=documents,
                end_of_stream=documents is None,
                by_value=True,
            )


def _tokens(
    micro_batches: Iterator[MicroBatch], *, cp_rank: int | None
) -> NDArray[np.uint32]:
    """All that came, each micro-batch's being what a trainer would have gathered."""
    found = [np.zeros(0, np.uint32)]
    for micro_batch in micro_batches:
        ids = micro_batch.token_ids
        assert ids is not None
        corpora = list(CORPORA.values())
        expected = gather(micro_batch, corpora, cp_rank=cp_rank, dtype=np.uint32)
        assert ids.dtype == np.uint32
        assert np.array_equal(ids, expected)
        found.append(ids)
    return np.concatenate(found)


def _check_each_once(parts: Sequence[NDArray[np.uint32]]) -> None:
    """Of all tokens of the corpora."""
    seen = np.sort(np.concatenate(parts))
    assert np.array_equal(seen, np.arange(TOKENS, dtype=np.uint32))


def _of_all_ranks(address: str) -> list[NDArray[np.uint32]]:
    """What the CP ranks are sent, from the first step on."""
    parts = []
    for rank in RANKS:
        with open_dataset(address, rank) as dataset:
            parts.append(_tokens(micro_batches(dataset), cp_rank=rank[1]))
    return parts


def test_every_token_reaches_one_context_parallel_rank_once(
    server: ServerProcess,
) -> None:
    """In its local order, from a producer that was stopped in the middle."""
    client = Client(server.grpc_address)
    client.create_job("run", _spec())
    _feed(client, documents=333)
    _feed(client)
    parts = _of_all_ranks(server.grpc_address)
    _check_each_once(parts)
    # The tokens of several messages, and some on each rank.
    assert TOKENS * 4 > 2 << 20
    assert all(len(part) > TOKENS // 8 for part in parts)


def test_a_subscription_of_no_context_parallel_rank_has_all_tokens(
    server: ServerProcess,
) -> None:
    """One document after another."""
    client = Client(server.grpc_address)
    client.create_job("run", _spec())
    _feed(client)
    parts = []
    for dp_rank in range(2):
        with open_dataset(server.grpc_address, (dp_rank, None)) as dataset:
            parts.append(_tokens(micro_batches(dataset), cp_rank=None))
    _check_each_once(parts)


@pytest.mark.parametrize(
    "sharding", ["SHARDING_PER_SEQUENCE", "SHARDING_PER_DOCUMENT", "SHARDING_HYBRID"]
)
def test_pieces_of_documents_that_were_cut_have_their_part(
    server: ServerProcess, sharding: str
) -> None:
    """However the micro-batch is cut over the group."""
    client = Client(server.grpc_address)
    spec = _spec(window=1000, split_overlong=True, policy={}, sharding=sharding)
    client.create_job("run", spec)
    _feed(client)
    _check_each_once(_of_all_ranks(server.grpc_address))
    with open_dataset(server.grpc_address, (0, 0)) as dataset:
        offsets = [micro_batch.offset for micro_batch in micro_batches(dataset)]
    assert np.concatenate(offsets).max() >= 1000


def _add(producer: Producer, first: int, end: int) -> None:
    """Documents of the stream `web` with their tokens."""
    documents = [CORPORA["web"].tokens(number) for number in range(first, end)]
    lengths = [len(tokens) for tokens in documents]
    producer.add(lengths, token_ids=np.concatenate(documents))


def test_tokens_outlive_a_server_that_is_killed(tmp_path: Path) -> None:
    """Those of steps, of waiting documents, and of what a producer had under way."""
    store = f"sqlite:{tmp_path / 'jobs'}"
    with ServerProcess("--store", store) as first:
        address = first.grpc_address
        client = Client(address)
        client.create_job("run", _spec())
        _feed(client, documents=500)
        # So that most steps come from the second server.
        datasets = {rank: open_dataset(address, rank, ahead=False) for rank in RANKS}
        parts = [
            _tokens(micro_batches(dataset, 2), cp_rank=cp_rank)
            for (_, cp_rank), dataset in datasets.items()
        ]
        producer = client.producer("run", "web")
        _add(producer, 500, 900)
        first.signal(signal.SIGKILL)
        first.wait()
        with ServerProcess("--store", store, listen=address):
            _add(producer, 900, 1000)
            producer.flush()
            _feed(client)
            for (_, cp_rank), dataset in datasets.items():
                parts.append(_tokens(micro_batches(dataset), cp_rank=cp_rank))
            for (_, cp_rank), dataset in datasets.items():
                if cp_rank == 0:
                    dataset.ack_durable()
                dataset.close()
            job = client.get_job("run")
            assert job.durable_steps == job.next_step > 20
    _check_each_once(parts)


def test_steps_that_are_formed_anew_have_their_tokens(server: ServerProcess) -> None:
    """After a rewind, behind those that are durable and let go."""
    client = Client(server.grpc_address)
    client.create_job("run", _spec())
    _feed(client)
    let_go: list[NDArray[np.uint32]] = []
    for rank in RANKS:
        with open_dataset(server.grpc_address, rank) as dataset:
            let_go.append(_tokens(micro_batches(dataset, 3), cp_rank=rank[1]))
            _tokens(micro_batches(dataset, 5), cp_rank=rank[1])
    for dp_rank in range(2):
        assert client.acknowledge("run", dp_rank, 2, 0) == 3
    job = client.rewind_job("run", 5)
    assert (job.epoch, job.durable_steps) == (1, 3)
    _check_each_once([*let_go, *_of_all_ranks(server.grpc_address)])


def test_a_job_by_value_refuses_documents_without_tokens(server: ServerProcess) -> None:
    """Where all come without, and where some do."""
    client = Client(server.grpc_address)
    client.create_job("run", _spec())
    with (
        client.producer("run", "web") as producer,
        pytest.raises(InvalidArgumentError, match=r"batch\.token_ids"),
    ):
        producer.add([5, 6])
        producer.flush()
    with client.producer("run", "web") as producer:
        producer.add([2], token_ids=[7, 8])
        producer.flush()
        with pytest.raises(InvalidArgumentError, match=r"batch\.token_ids"):
            producer.add([3])
            producer.add([2], token_ids=[9, 10])
            producer.flush()
    assert client.get_job("run").streams[0].next_sequence == 1


def test_a_job_by_reference_refuses_tokens(server: ServerProcess) -> None:
    """And takes the document without them."""
    client = Client(server.grpc_address)
    client.create_job("run", _spec(payload_mode="PAYLOAD_MODE_BY_REFERENCE"))
    with (
        client.producer("run", "web") as producer,
        pytest.raises(InvalidArgumentError, match=r"batch\.token_ids"),
    ):
        producer.add([2], token_ids=[7, 8])
        producer.flush()
    with client.producer("run", "web") as producer:
        producer.add([2])
        producer.flush()
    assert client.get_job("run").streams[0].next_sequence == 1
