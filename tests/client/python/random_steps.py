"""Steps of jobs in this process, over random documents, for any layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from evenpack._native import LocalJob, MicroBatch, Spec, Step
from evenpack.errors import OutOfRangeError
from evenpack.spec import job_spec
from numpy.typing import NDArray

WINDOW = 96
# No document is so long; a token's id tells its document and its place there.
DOCUMENT_IDS = 1000

# What a job may ask for besides its layout. Multiples of 24 suit CP 1 to 4.
PLAIN: dict[str, Any] = {}
SPLIT: dict[str, Any] = {"policy": {"original": {"split_documents": True}}}
PADDED: dict[str, Any] = {"consumer_layout": {"pad_tokens_to": 24}}
LADDER: dict[str, Any] = {"consumer_layout": {"shape_ladder": [24, 72, 144]}}
SEQUENCE_PARALLEL: dict[str, Any] = {
    "parallelism": {"tensor": 3},
    "consumer_layout": {"sequence_parallel": True},
}
VARIANTS = {
    "plain": PLAIN,
    "split": SPLIT,
    "padded": PADDED,
    "ladder": LADDER,
    "sequence_parallel": SEQUENCE_PARALLEL,
}


def spec(layout: str, context: int, variant: dict[str, Any]) -> dict[str, Any]:
    """DP 1, three micro-batches a step; documents above 144 tokens are split."""
    fields: dict[str, Any] = {
        "streams": [{"name": "text"}],
        "window": WINDOW,
        "max_length": WINDOW + WINDOW // 2,
        "split_overlong": True,
    }
    parallelism = {"context": context, "micro_batches_per_rank": 3}
    fields |= {key: value for key, value in variant.items() if key not in fields}
    fields["parallelism"] = parallelism | variant.get("parallelism", {})
    name = f"LAYOUT_{layout.upper()}"
    fields["consumer_layout"] = {"layout": name} | variant.get("consumer_layout", {})
    return fields


def steps(
    fields: dict[str, Any],
    lengths: NDArray[np.uint32],
    loss_tokens: NDArray[np.uint32] | None = None,
    dp_rank: int = 0,
) -> Iterator[Step]:
    """All steps that the documents give, as a rank has them."""
    job = LocalJob.create(job_spec(fields).SerializeToString())
    job.add("text", 0, lengths, None, loss_tokens, None)
    job.end_of_stream("text")
    native_spec = Spec(job.spec)
    while True:
        try:
            message = job.take_step(dp_rank, None)
        except OutOfRangeError:  # drained
            return
        assert message is not None
        yield Step.read(message, native_spec)


def random_lengths(seed: int, documents: int = 40) -> NDArray[np.uint32]:
    """Mostly short ones, some of one token, some that must be split."""
    drawn = np.random.default_rng(seed).lognormal(2.8, 1.3, documents)
    return np.clip(drawn, 1, 400).astype(np.uint32)


def micro_batches(
    layout: str, context: int, variant: dict[str, Any], seed: int = 1
) -> list[MicroBatch]:
    """Those of all steps of a job; the last ones are short, and may be empty."""
    fields = spec(layout, context, variant)
    found = [
        step[i]
        for step in steps(fields, random_lengths(seed))
        for i in range(len(step))
    ]
    assert len(found) > 5
    return found


def of_documents(
    lengths: list[int],
    loss_tokens: list[int] | None = None,
    *,
    layout: str = "native",
    context: int = 1,
    changes: dict[str, object] | None = None,
) -> MicroBatch:
    """One micro-batch with just these documents, in this order.

    `changes`: fields of the spec.
    """
    fields = spec(layout, context, {"policy": {"original": {}}})
    fields["parallelism"] = {"context": context}
    fields |= {"window": 1024, "max_length": 1024} | (changes or {})
    columns = [
        None if values is None else np.array(values, np.uint32)
        for values in (lengths, loss_tokens)
    ]
    assert columns[0] is not None
    (step,) = steps(fields, columns[0], columns[1])
    return step[0]


def token_ids(micro_batch: MicroBatch) -> NDArray[np.int64]:
    """Each token's own: which document it is of, and where in it."""
    firsts = micro_batch.sequence.astype(np.int64) * DOCUMENT_IDS + micro_batch.offset
    pieces = zip(firsts, micro_batch.length, strict=True)
    ids = [first + np.arange(length) for first, length in pieces]
    return np.concatenate([np.zeros(0, np.int64), *ids])


def following_ids(micro_batch: MicroBatch) -> NDArray[np.int64]:
    """The token after each piece of a document; -1 where it is the last piece."""
    ends = micro_batch.offset.astype(np.int64) + micro_batch.length
    known = ends < micro_batch.document_length
    firsts = micro_batch.sequence.astype(np.int64) * DOCUMENT_IDS
    return np.where(known, firsts + ends, -1)


# Each layout that cuts documents head and tail, with every CP and variant.
HEAD_TAIL = [
    pytest.param(layout, context, variant, id=f"{layout}-cp{context}-{name}")
    for layout in ("megatron_thd", "te_thd", "pytorch_cp")
    for context in (1, 2, 3, 4)
    for name, variant in VARIANTS.items()
]


def any_job(*, contexts: tuple[int, ...] = (1, 2, 3, 4)) -> list[Any]:
    """All layouts with every CP and variant that they accept."""
    return [
        pytest.param(layout, context, variant, id=f"{layout}-cp{context}-{name}")
        for layout in (
            "native",
            "megatron_thd",
            "te_thd",
            "pytorch_cp",
            "ring_llama3",
            "hf_flat",
        )
        for context in contexts
        for name, variant in VARIANTS.items()
        if not (layout == "hf_flat" and context != 1)
        if not (layout == "native" and name == "sequence_parallel")
    ]
