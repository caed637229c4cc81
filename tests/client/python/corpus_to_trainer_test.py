"""A corpus all the way: files, a server's stream, steps, and the trainer's tokens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import example_jobs
import numpy as np
import pytest
from evenpack import Client, MicroBatch, PackedDataset
from evenpack.corpora import (
    Blend,
    IndexedDataset,
    IndexedDatasetWriter,
    Shuffle,
    gather,
)
from evenpack.ingest import ingest
from server_process import ServerProcess

DOCUMENTS = {"web": 600, "code": 300}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Blend:
    """Two indexed datasets, no token twice, shuffled and blended 2 to 1."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    next_token = 0
    for seed, (name, documents) in enumerate(DOCUMENTS.items()):
        with IndexedDatasetWriter(folder / name, np.int32) as writer:
            for length in example_jobs.lengths(documents, seed).tolist():
                writer.add(np.arange(next_token, next_token + length, dtype=np.int32))
                next_token += length
    parts = [Shuffle(IndexedDataset(folder / name), seed=7) for name in DOCUMENTS]
    return Blend(parts, weights=[2, 1])


def _tokens(micro_batch: MicroBatch, corpus: Blend) -> list[int]:
    """Of all context-parallel ranks, each put where the whole has them."""
    whole = gather(micro_batch, [corpus])
    for rank in range(2):
        own = gather(micro_batch, [corpus], cp_rank=rank)
        assert (own == whole[micro_batch.slices(rank).token_indices]).all()
    # Each document's tokens follow one another, as they were written.
    starts = micro_batch.cu_seqlens[:-1]
    steps = np.diff(whole)
    assert (np.delete(steps, starts[1:] - 1) == 1).all()
    found: list[int] = whole.tolist()
    return found


def test_every_token_reaches_the_trainer_exactly_once(
    server: ServerProcess, corpus: Blend
) -> None:
    """Though the producer was stopped in the middle, and begun again."""
    client = Client(server.grpc_address)
    client.create_job("run", example_jobs.spec())
    with client.producer("run", "text") as producer:
        ingest(producer, corpus, documents=421, end_of_stream=False)
    with client.producer("run", "text") as producer:
        assert ingest(producer, corpus).first_sequence == 421
    seen: Counter[int] = Counter()
    sources: Counter[int] = Counter()
    for rank in range(2):
        with PackedDataset(server.grpc_address, job="run", dp_rank=rank) as dataset:
            for step in dataset:
                for micro_batch in step:
                    seen.update(_tokens(micro_batch, corpus))
                    sources.update(micro_batch.source.tolist())
    written = sum(
        int(example_jobs.lengths(documents, seed).sum())
        for seed, documents in enumerate(DOCUMENTS.values())
    )
    assert set(seen.values()) == {1}
    assert sorted(seen) == list(range(written))
    assert sources == {0: 600, 1: 300}


def test_the_engine_here_takes_the_corpus_itself(
    server: ServerProcess, corpus: Blend
) -> None:
    """And decides what the server does."""
    client = Client(server.grpc_address)
    client.create_job("run", example_jobs.spec())
    with client.producer("run", "text") as producer:
        ingest(producer, corpus)
    local = PackedDataset(spec=example_jobs.spec(), lengths=corpus)
    with PackedDataset(server.grpc_address, job="run") as served:
        assert [step.to_bytes() for step in local] == [s.to_bytes() for s in served]
