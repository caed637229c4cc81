"""Token ids that a server reads itself: datasets, streams, steps, and the trainer."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import example_jobs
import numpy as np
import pytest
from evenpack import Client, MicroBatch, PackedDataset, TokenFile
from evenpack.corpora import (
    Blend,
    IndexedDataset,
    IndexedDatasetWriter,
    Shuffle,
    gather,
)
from evenpack.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from evenpack.ingest import ingest
from example_payloads import dataset as open_dataset
from example_payloads import micro_batches
from numpy.typing import NDArray
from server_process import ServerProcess

DOCUMENTS = 1200
# Those of a data-parallel rank and its context-parallel group.
RANKS = [(dp_rank, cp_rank) for dp_rank in range(2) for cp_rank in range(2)]
# Types of tokens that a server reads.
KINDS = ["<u2", "<i4"]


def _write(prefix: Path, kind: str, seed: int) -> IndexedDataset:
    """Documents of any tokens that the type has, some of them without one."""
    draw = np.random.default_rng(seed)
    limits = np.iinfo(kind)
    with IndexedDatasetWriter(prefix, kind) as writer:
        for i, length in enumerate(example_jobs.lengths(DOCUMENTS, seed).tolist()):
            tokens = draw.integers(limits.min, limits.max, length, endpoint=True)
            writer.add(tokens)
            if i % 100 == 0:
                writer.add([])
    return IndexedDataset(prefix)


def _spec(**changes: object) -> dict[str, Any]:
    """DP 2, CP 2, one stream that holds all documents."""
    fields: dict[str, Any] = {
        "buffer_limits": {"max_tokens": 1 << 24},
        "payload_mode": "PAYLOAD_MODE_BY_VALUE",
    }
    return example_jobs.spec(**fields | changes)


# All that is fed here.
Source = IndexedDataset | Shuffle | Blend


def _feed(
    client: Client, corpus: Source, job: str = "run", documents: int | None = None
) -> None:
    """Sends what the stream doesn't have yet: so many in all, or to the end."""
    with client.producer(job, "text") as producer:
        ingest(
            producer,
            corpus,
            documents=documents,
            end_of_stream=documents is None,
            by_value=True,
            server_reads=True,
        )


def _tokens(
    micro_batches: Iterator[MicroBatch], corpus: Source, cp_rank: int
) -> NDArray[np.uint32]:
    """All that came, each micro-batch's being what a trainer would have gathered."""
    found = [np.zeros(0, np.uint32)]
    for micro_batch in micro_batches:
        ids = micro_batch.token_ids
        assert ids is not None
        expected = gather(micro_batch, [corpus], cp_rank=cp_rank, dtype=np.int64)
        # What a server takes for an id has no sign.
        assert np.array_equal(ids, expected.astype(np.uint32))
        found.append(ids)
    return np.concatenate(found)


def _of_all_ranks(
    address: str, corpus: Source, job: str = "run"
) -> list[NDArray[np.uint32]]:
    """What the ranks are sent, from the first step on."""
    parts = []
    for rank in RANKS:
        with open_dataset(address, rank, job) as dataset:
            parts.append(_tokens(micro_batches(dataset), corpus, rank[1]))
    return parts


def _check_each_once(parts: Sequence[NDArray[np.uint32]], corpus: Source) -> None:
    """Of all tokens of the corpus, as often as it has them."""
    every = [corpus.tokens(i).astype(np.int64) for i in range(len(corpus))]
    expected = np.sort(np.concatenate(every).astype(np.uint32))
    assert np.array_equal(np.sort(np.concatenate(parts)), expected)


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_steps_have_the_tokens_of_a_dataset(tmp_path: Path, kind: str) -> None:
    """Of each context-parallel rank, from a producer that stopped in the middle."""
    corpus = _write(tmp_path / "web", kind, seed=1)
    assert corpus.documents_without_tokens > 0
    with ServerProcess("--payload-root", str(tmp_path)) as server:
        client = Client(server.grpc_address)
        client.create_job("run", _spec())
        _feed(client, corpus, documents=333)
        _feed(client, corpus)
        parts = _of_all_ranks(server.grpc_address, corpus)
    _check_each_once(parts, corpus)
    # Ids beyond what a sign would leave, where there is one.
    assert max(int(part.max()) for part in parts) > np.iinfo(kind).max - 1000


def test_steps_have_the_tokens_of_a_mixture(tmp_path: Path) -> None:
    """Of two shuffled datasets in folders and types of their own."""
    (tmp_path / "code").mkdir()
    web = _write(tmp_path / "web", "<u2", seed=1)
    code = _write(tmp_path / "code" / "all", "<i4", seed=2)
    corpus = Blend([Shuffle(web, seed=3), Shuffle(code, seed=4)], [3, 1])
    with ServerProcess("--payload-root", str(tmp_path)) as server:
        client = Client(server.grpc_address)
        client.create_job("run", _spec())
        _feed(client, corpus)
        parts = _of_all_ranks(server.grpc_address, corpus)
    _check_each_once(parts, corpus)


def test_a_killed_server_reads_the_files_again(tmp_path: Path) -> None:
    """Its store has their places and not the tokens."""
    corpus = Shuffle(_write(tmp_path / "web", "<i4", seed=1), seed=5)
    (tmp_path / "store").mkdir()
    store = tmp_path / "store" / "jobs"
    flags = ["--store", f"sqlite:{store}", "--payload-root", str(tmp_path)]
    with ServerProcess(*flags) as first:
        address = first.grpc_address
        client = Client(address)
        client.create_job("run", _spec())
        _feed(client, corpus, documents=700)
        # So that most steps come from the second server.
        datasets = {rank: open_dataset(address, rank, ahead=False) for rank in RANKS}
        parts = [
            _tokens(micro_batches(dataset, 2), corpus, rank[1])
            for rank, dataset in datasets.items()
        ]
        first.signal(signal.SIGKILL)
        first.wait()
        taken = sum(len(corpus.tokens(i)) for i in range(700)) * 4
        assert _bytes_of(tmp_path / "store") < taken / 2
        with ServerProcess(*flags, listen=address):
            _feed(client, corpus)
            for rank, dataset in datasets.items():
                parts.append(_tokens(micro_batches(dataset), corpus, rank[1]))
            for rank, dataset in datasets.items():
                if rank[1] == 0:
                    dataset.ack_durable()
                dataset.close()
            job = client.get_job("run")
            assert job.durable_steps == job.next_step > 20
    _check_each_once(parts, corpus)


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Client]:
    """Whose server reads files of `root`, where `web.bin` has the ids 0 to 99."""
    root = tmp_path / "root"
    root.mkdir()
    ids = np.arange(100, dtype="<u4").tobytes()
    for folder in (root, tmp_path):
        (folder / "web.bin").write_bytes(ids)
    (root / "link.bin").symlink_to(tmp_path / "web.bin")
    (root / "folder").mkdir()
    with ServerProcess("--payload-root", str(root)) as server:
        client = Client(server.grpc_address)
        client.create_job("run", _spec())
        yield client


@pytest.mark.parametrize(
    ("name", "token_bytes", "offsets", "field"),
    [
        ("web.bin", 4, [0, 0], r"token_file\.path: '/.*web\.bin'"),
        ("root/../web.bin", 4, [0, 0], r"token_file\.path: '/.*web\.bin'"),
        ("root/link.bin", 4, [0, 0], r"token_file\.path: '/.*link\.bin'"),
        ("root/code.bin", 4, [0, 0], r"token_file\.path: '/.*code\.bin'"),
        ("root/folder", 4, [0, 0], r"token_file\.path: '/.*folder'"),
        ("root/web.bin", 4, [0, 304], r"token_file\.offset\[1\]: 304"),
        ("root/web.bin", 2, [360, 0], r"token_file\.offset\[0\]: 360"),
        ("root/web.bin", 4, [0, (1 << 64) - 4], r"token_file\.offset\[1\]: 184467"),
    ],
)
def test_what_a_server_does_not_read_is_refused(
    reading: Client,
    tmp_path: Path,
    name: str,
    token_bytes: int,
    offsets: list[int],
    field: str,
) -> None:
    """By its field; what was accepted before stays, and the stream goes on."""
    good = TokenFile(tmp_path / "root" / "web.bin", 4, [300])
    with reading.producer("run", "text") as producer:
        producer.add([25], token_file=good)
        producer.flush()
        file = TokenFile(f"{tmp_path}/{name}", token_bytes, offsets)
        with pytest.raises(InvalidArgumentError, match=field):
            producer.add([25, 25], token_file=file)
            producer.flush()
    with reading.producer("run", "text") as producer:
        assert producer.next_sequence == 1
        producer.add([25], token_file=good)
        producer.flush()
        assert producer.accepted_sequence == 2


def test_documents_may_end_with_their_file_and_lie_anywhere(
    reading: Client, tmp_path: Path
) -> None:
    """As bytes of either size, beside documents whose tokens travel."""
    path = tmp_path / "root" / "web.bin"
    with reading.producer("run", "text") as producer:
        producer.add([3, 2], token_file=TokenFile(path, 4, [388, 6]))
        producer.add([2], token_file=TokenFile(path, 2, [396]))
        producer.add([2], token_ids=[7, 8])
        producer.end_of_stream()
    found: dict[int, list[int]] = {}
    for dp_rank in range(2):
        with PackedDataset(reading.address, job="run", dp_rank=dp_rank) as dataset:
            for micro_batch in micro_batches(dataset):
                ids, ends = micro_batch.token_ids, np.cumsum(micro_batch.length)
                assert ids is not None
                pieces = np.split(ids, ends[:-1])
                for number, piece in zip(micro_batch.sequence, pieces, strict=True):
                    found[int(number)] = piece.tolist()
    # Two bytes behind where id 1 begins are its upper half and the lower one of id 2.
    assert found == {0: [97, 98, 99], 1: [2 << 16, 3 << 16], 2: [99, 0], 3: [7, 8]}


def test_a_server_without_a_root_reads_no_files(
    server: ServerProcess, tmp_path: Path
) -> None:
    """And takes the tokens themselves."""
    corpus = _write(tmp_path / "web", "<u2", seed=1)
    client = Client(server.grpc_address)
    client.create_job("run", _spec())
    with pytest.raises(FailedPreconditionError, match=r"token_file.*--payload-root"):
        _feed(client, corpus)
    assert client.get_job("run").streams[0].next_sequence == 0
    with client.producer("run", "text") as producer:
        ingest(producer, corpus, by_value=True)
    _check_each_once(_of_all_ranks(server.grpc_address, corpus), corpus)


def test_a_job_by_reference_refuses_places_of_tokens(tmp_path: Path) -> None:
    """As it refuses tokens."""
    corpus = _write(tmp_path / "web", "<u2", seed=1)
    with ServerProcess("--payload-root", str(tmp_path)) as server:
        client = Client(server.grpc_address)
        client.create_job("run", _spec(payload_mode="PAYLOAD_MODE_BY_REFERENCE"))
        with pytest.raises(InvalidArgumentError, match=r"batch\.token_"):
            _feed(client, corpus)
        assert client.get_job("run").streams[0].next_sequence == 0


def test_a_file_that_was_changed_breaks_its_job_alone(tmp_path: Path) -> None:
    """One bit is enough, while the server is down."""
    corpora = {
        name: _write(tmp_path / name, "<u2", seed)
        for seed, name in enumerate(["web", "code"])
    }
    flags = ["--store", f"sqlite:{tmp_path / 'jobs'}", "--payload-root", str(tmp_path)]
    with ServerProcess(*flags) as first:
        client = Client(first.grpc_address)
        for name, corpus in corpora.items():
            client.create_job(name, _spec())
            _feed(client, corpus, job=name)
        first.signal(signal.SIGKILL)
        first.wait()
    changed = tmp_path / "web.bin"
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 1
    # Corpora are mapped: a new file takes the name.
    (tmp_path / "other").write_bytes(content)
    (tmp_path / "other").rename(changed)
    with ServerProcess(*flags) as second:
        client = Client(second.grpc_address)
        with pytest.raises(DataLossError, match=r"web\.bin' has changed"):
            client.get_job("web")
        assert [job.name for job in client.list_jobs()] == ["code"]
        corpus = corpora["code"]
        parts = _of_all_ranks(second.grpc_address, corpus, job="code")
        _check_each_once(parts, corpus)
        client.delete_job("web")
        client.create_job("web", _spec())
