"""Jobs and documents of the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from evenpack import Client
from numpy.typing import NDArray

WINDOW = 4096

# What changes `spec` to each policy, with the options that decide otherwise.
POLICIES: dict[str, dict[str, Any]] = {
    "original": {"policy": {"original": {"split_documents": True}}},
    "fixed_greedy": {"policy": {"fixed_greedy": {"window_batches": 2}}},
    "wlb": {"policy": {"wlb": {"queue_thresholds": [2000]}}, "max_length": 6144},
    "balanced": {"policy": {"balanced": {}}, "max_length": 6144},
    "even_steps": {
        "policy": {"balanced": {"token_cv": 0.05, "long_share": 0.2}},
        "max_length": 6144,
    },
    "by_class": {"policy": {"balanced": {"release": "RELEASE_BY_CLASS"}}},
    "hybrid": {
        "policy": {"balanced": {"virtual_stages": 2}},
        "sharding": "SHARDING_HYBRID",
        "max_length": 6144,
        "max_delay": 4,
        "parallelism": {
            "data": 2,
            "micro_batches_per_rank": 4,
            "context": 2,
            "pipeline": 2,
            "virtual_pipeline_group": 2,
        },
    },
}


def lengths(documents: int, seed: int = 1) -> NDArray[np.uint32]:
    """Many short documents and a few as long as the window."""
    drawn = np.random.default_rng(seed).lognormal(5.0, 1.3, documents)
    return np.clip(drawn, 1, WINDOW).astype(np.uint32)


def spec(**changes: object) -> dict[str, Any]:
    """DP 2, two micro-batches a rank, CP 2, one outlier queue, one stream."""
    fields: dict[str, Any] = {
        "streams": [{"name": "text"}],
        "window": WINDOW,
        "parallelism": {"data": 2, "micro_batches_per_rank": 2, "context": 2},
        "policy": {"wlb": {"queue_thresholds": [2000]}},
    }
    return fields | changes


def feed(
    client: Client,
    job: str,
    documents: NDArray[np.uint32],
    *,
    stream: str = "text",
    end: bool = True,
) -> None:
    """Sends what the stream doesn't have yet."""
    with client.producer(job, stream) as producer:
        producer.add(documents[producer.next_sequence :])
        producer.flush()
        if end:
            producer.end_of_stream()


def client_of_fed_job(
    address: str, documents: NDArray[np.uint32], **changes: object
) -> Client:
    """Of a server that has the job `run`, with all the documents of its stream."""
    client = Client(address)
    client.create_job("run", spec(**changes))
    feed(client, "run", documents)
    return client
