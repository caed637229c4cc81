"""Balanced steps without a server: the engine decides them in this process.

    python first_use.py

Prints for each of the first steps how much its micro-batches weigh. In a trainer every
rank runs this with its own dp_rank and gets its part of the same steps.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from evenpack import PackedDataset

SPEC = {
    "streams": [{"name": "text"}],
    "window": 65_536,
    "max_length": 98_304,
    "parallelism": {"data": 2, "micro_batches_per_rank": 2, "context": 2},
    # Documents from 24K tokens on wait for others of their length.
    "policy": {"wlb": {"queue_thresholds": [24_576, 49_152]}},
}


def main() -> None:
    """Packs made-up documents: many short ones and a few as long as the window."""
    drawn = np.random.default_rng(0).lognormal(7.5, 1.4, 20_000)
    lengths = np.clip(drawn, 1, 65_536).astype(np.uint32)
    ranks = [PackedDataset(spec=SPEC, lengths=lengths, dp_rank=rank) for rank in (0, 1)]
    for steps in islice(zip(*ranks, strict=True), 5):
        weights = " ".join(
            f"{micro_batch.tokens:7,} tokens {micro_batch.workload_ns / 1e6:6.1f} ms"
            for step in steps
            for micro_batch in (step[0], step[1])
        )
        print(f"step {steps[0].index}: {weights}  {steps[0].digest.hex()[:8]}")


if __name__ == "__main__":
    main()
