"""What the Python package adds to a step: JSON on standard output.

    python_bench.py [--documents N]

with EVENPACK_SERVER_PROGRAM, in an environment that has the package
(tests/client/python/build_wheel.sh makes one). The job has the shape of the example in
docs/python.md: window 65,536, DP 8, 4 micro-batches a rank, CP 2. `take` is a step of
the engine in this process, `follow` one that a server on this machine sends, fetched
ahead; `megatron` and `native` the layout of one micro-batch from its tokens; seconds,
medians. `groups` are calls of `balanced_groups` for DP 8: for samples of each kind the
seconds and how many numbers of micro-batches were tried.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from evenpack import Client, PackedDataset, Step
from evenpack.adapters import megatron_scheduler
from evenpack.layouts import megatron_thd_batch, native_batch
from server_process import ServerProcess

SPEC = {
    "streams": [{"name": "text"}],
    "window": 65_536,
    "max_length": 98_304,
    "parallelism": {"data": 8, "micro_batches_per_rank": 4, "context": 2},
    "policy": {"wlb": {"queue_thresholds": [24_576, 49_152]}},
}
MEGATRON = SPEC | {"consumer_layout": {"layout": "LAYOUT_MEGATRON_THD"}}


def seconds(calls: list[Callable[[], object]]) -> float:
    """The median of what the calls take."""
    taken = []
    for call in calls:
        started = perf_counter()
        call()
        taken.append(perf_counter() - started)
    return float(np.median(taken))


def per_step(dataset: PackedDataset) -> tuple[float, int]:
    """Median seconds of a step, and how many there were."""
    taken = []
    started = perf_counter()
    for _ in dataset:
        now = perf_counter()
        taken.append(now - started)
        started = now
    return float(np.median(taken)), len(taken)


def layouts(lengths: np.ndarray) -> dict[str, float]:
    """Seconds of a layout, by its name."""
    native, megatron = (
        list(PackedDataset(spec=spec, lengths=lengths)) for spec in (SPEC, MEGATRON)
    )

    def calls(steps: list[Step], layout: Callable[..., object]) -> float:
        made: list[Callable[[], object]] = []
        for step in steps:
            for micro_batch in step:
                tokens = np.zeros(micro_batch.tokens, dtype=np.int32)
                made.append(partial(layout, micro_batch, tokens, cp_rank=1))
        return seconds(made)

    return {
        "megatron": calls(megatron, megatron_thd_batch),
        "native": calls(native, native_batch),
    }


def groups() -> dict[str, dict[str, float]]:
    """Seconds of a global batch's packing and what it tried, by the samples' kind."""
    random = np.random.default_rng(1)
    kinds = {
        "100,000 of many lengths": (random.lognormal(7, 1.3, 100_000), 131_072, None),
        "1,000,000 of many lengths": (random.lognormal(7, 1.3, 10**6), 131_072, None),
        "8,000 of 51% to 100%": (random.uniform(4_178, 8_192, 8_000), 8_192, None),
        "16,000 of 34% to 50%": (random.uniform(2_786, 4_096, 16_000), 8_192, None),
        "16,000, 4 to each": (random.uniform(82, 819, 16_000), 8_192, 4),
        "16,000 of many, 4 to each": (random.lognormal(7, 1.3, 16_000), 8_192, 4),
    }
    tries: list[int] = []
    packed = megatron_scheduler._packed

    def noted(
        spec: dict[str, Any], lengths: NDArray[np.uint32], micro_batches: int
    ) -> list[list[int]] | None:
        tries.append(micro_batches)
        return packed(spec, lengths, micro_batches)

    found = {}
    with patch.object(megatron_scheduler, "_packed", noted):
        for kind, (drawn, most, most_samples) in kinds.items():
            lengths = np.clip(drawn, 1, most).astype(np.uint32)
            samples = list(enumerate(lengths.tolist()))
            tries.clear()
            started = perf_counter()
            megatron_scheduler.balanced_groups(
                samples, max_tokens=most, data_parallel=8, max_samples=most_samples
            )
            found[kind] = {"seconds": perf_counter() - started, "tried": len(tries)}
    return found


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    documents = parser.parse_args().documents
    drawn = np.random.default_rng(0).lognormal(7.5, 1.4, documents)
    lengths = np.clip(drawn, 1, 65_536).astype(np.uint32)
    take, steps = per_step(PackedDataset(spec=SPEC, lengths=lengths))
    with ServerProcess() as server:
        client = Client(server.grpc_address)
        client.create_job("bench", SPEC)
        with client.producer("bench", "text") as producer:
            started = perf_counter()
            producer.add(lengths)
            producer.end_of_stream()
            ingest = documents / (perf_counter() - started)
        with PackedDataset(server.grpc_address, job="bench") as dataset:
            follow, _ = per_step(dataset)
    report = {
        "documents": documents,
        "steps": steps,
        "take_seconds": take,
        "follow_seconds": follow,
        "ingest_documents_per_second": ingest,
        "layout_seconds": layouts(lengths),
        "groups": groups(),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
