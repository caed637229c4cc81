"""How large the model and the job of a run are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Ranks that share each micro-batch, before and after the job is reshaped.
CONTEXT_PARALLEL = 2
# Micro-batches of a step, all DP ranks together: it stays when DP changes, so that a
# step has the same tokens under both shapes.
MICRO_BATCHES = 4
# The workers' attention takes heads of 64, 128, 192 and 256.
HEAD_SIZE = 64


@dataclass(frozen=True)
class Size:
    """A model, the text it is trained on and what is done to the run.

    Attributes:
        width: elements of a token's hidden state.
        layers: of attention and feed-forward each.
        query_heads: of HEAD_SIZE elements.
        kv_heads: of which each serves query_heads / kv_heads query heads.
        feed_forward: hidden elements of the feed-forward layers.
        window: tokens of a micro-batch, and of the longest document.
        documents: of the corpus.
        save_every: steps between two checkpoints.
        disturbances: the plan where none is given (disturbances.py).
    """

    width: int
    layers: int
    query_heads: int
    kv_heads: int
    feed_forward: int
    window: int
    documents: int
    save_every: int
    disturbances: str


SIZES = {
    "full": Size(256, 4, 4, 2, 704, 1024, 440, 4, "rank@6,server@10,reshape@14"),
    "tiny": Size(64, 2, 2, 1, 128, 256, 104, 3, "rank@4,server@6,reshape@8"),
}


def job_spec(size: Size, data_parallel: int) -> dict[str, Any]:
    """The job: fields of an evenpack.v1.JobSpec."""
    window = size.window
    return {
        "streams": [{"name": "text"}],
        "window": window,
        "max_length": window * 3 // 2,
        "parallelism": {
            "data": data_parallel,
            "micro_batches_per_rank": MICRO_BATCHES // data_parallel,
            "context": CONTEXT_PARALLEL,
        },
        # Documents from half the window on wait for others of their length.
        "policy": {"wlb": {"queue_thresholds": [window // 2]}},
        # Steps are decided as checkpoints are written, so that a server that was killed
        # goes on packing. Until then it holds the documents.
        "retention": {"max_steps_ahead": 2 * size.save_every},
        "buffer_limits": {"max_tokens": size.documents * window},
    }
