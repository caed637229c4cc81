"""What payload by value costs against payload by reference: JSON on standard output.

    payload_bench.py [--documents N]

with EVENPACK_SERVER_PROGRAM, in an environment that has the package
(tests/client/python/build_wheel.sh makes one). One corpus, an indexed dataset of
32-bit tokens, goes through a server on this machine three times, with its store in a
file: `ingest` is what a producer takes until all is accepted, `step` what a CP rank
takes for a step and its tokens, gathered from the mapped file or come with the step.
`from_file` is by value, the tokens read from the file by the server. Seconds; `step`
is a median.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from evenpack import Client, MicroBatch, PackedDataset
from evenpack.corpora import IndexedDataset, IndexedDatasetWriter, gather
from evenpack.ingest import ingest
from server_process import ServerProcess

WINDOW = 65_536
SPEC = {
    "streams": [{"name": "text"}],
    "window": WINDOW,
    "max_length": 98_304,
    "parallelism": {"data": 2, "micro_batches_per_rank": 4, "context": 2},
    "policy": {"wlb": {"queue_thresholds": [24_576, 49_152]}},
}


def write_corpus(prefix: Path, documents: int) -> IndexedDataset:
    """Documents of random tokens."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(7.5, 1.4, documents), 1, WINDOW).astype(int)
    with IndexedDatasetWriter(prefix, np.int32) as writer:
        for length in lengths:
            writer.add(random.integers(0, 128_000, length, dtype=np.int32))
    return IndexedDataset(prefix)


def measure(
    corpus: IndexedDataset,
    store: Path,
    *,
    by_value: bool = False,
    server_reads: bool = False,
) -> dict[str, float]:
    """One mode, on a server of its own."""

    def tokens_of(micro_batch: MicroBatch) -> int:
        if by_value:
            tokens = micro_batch.token_ids
            assert tokens is not None
            return tokens.size
        return gather(micro_batch, [corpus], cp_rank=0).size

    mode = "PAYLOAD_MODE_BY_VALUE" if by_value else "PAYLOAD_MODE_BY_REFERENCE"
    flags = ["--store", f"sqlite:{store}", "--payload-root", str(store.parent)]
    with ServerProcess(*flags) as server:
        client = Client(server.grpc_address)
        client.create_job("bench", SPEC | {"payload_mode": mode})
        # All of it is buffered, before any rank asks for a step.
        started = perf_counter()
        with client.producer("bench", "text") as producer:
            ingest(producer, corpus, by_value=by_value, server_reads=server_reads)
        ingested = perf_counter() - started
        log = store.with_name(f"{store.name}-wal")
        stored = store.stat().st_size + log.stat().st_size
        taken = []
        tokens = 0
        with PackedDataset(server.grpc_address, job="bench", cp_rank=0) as dataset:
            started = perf_counter()
            for step in dataset:
                tokens += sum(tokens_of(micro_batch) for micro_batch in step)
                now = perf_counter()
                taken.append(now - started)
                started = now
    return {
        "ingest_seconds": ingested,
        "step_seconds": float(np.median(taken)),
        "steps": len(taken),
        "tokens_of_the_rank": tokens,
        "store_and_log_bytes_after_ingest": stored,
    }


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=4_000)
    documents = parser.parse_args().documents
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = write_corpus(folder / "corpus", documents)
        report = {
            "documents": documents,
            "tokens": int(corpus.read(np.arange(documents)).lengths.sum()),
            "by_reference": measure(corpus, folder / "reference"),
            "by_value": measure(corpus, folder / "value", by_value=True),
            "from_file": measure(
                corpus, folder / "from_file", by_value=True, server_reads=True
            ),
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
