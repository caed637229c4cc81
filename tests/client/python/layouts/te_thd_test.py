"""Tests of a rank's tokens as TransformerEngine wants them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.te_thd import te_thd_indices
from numpy.typing import NDArray


def _by_chunks(starts: NDArray[np.int32], context: int, rank: int) -> list[int]:
    """What thd_get_partitioned_indices is documented to return."""
    indices: list[int] = []
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        assert (end - begin) % (2 * context) == 0
        chunk = (end - begin) // (2 * context)
        for slot in (rank, 2 * context - 1 - rank):
            indices += range(begin + slot * chunk, begin + (slot + 1) * chunk)
    return indices


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.HEAD_TAIL)
def test_each_document_is_cut_in_chunks_head_and_tail(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        starts = micro_batch.cu_seqlens_padded
        for rank in range(context):
            indices = te_thd_indices(micro_batch, rank)
            assert indices.dtype == np.int32
            assert indices.shape == (micro_batch.padded_tokens // context,)
            if context == 1:
                assert indices.tolist() == list(range(micro_batch.padded_tokens))
            else:
                assert indices.tolist() == _by_chunks(starts, context, rank)


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.HEAD_TAIL)
def test_attention_over_parts_is_that_over_the_documents(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    generator = np.random.default_rng(3)
    for micro_batch in random_steps.micro_batches(layout, context, variant)[:4]:
        values = generator.random(micro_batch.padded_tokens)
        parts = [te_thd_indices(micro_batch, rank) for rank in range(context)]
        # The mean over the keys that a query sees, as each rank computes it of the
        # keys that all ranks together have.
        gathered = np.concatenate(parts)
        documents = np.repeat(
            np.arange(micro_batch.documents), np.diff(micro_batch.cu_seqlens_padded)
        )
        result = np.zeros(micro_batch.padded_tokens)
        for part in parts:
            seen = (documents[part, None] == documents[gathered]) & (
                part[:, None] >= gathered
            )
            result[part] += (seen * values[gathered]).sum(1) / seen.sum(1)
        expected = [
            values[begin : i + 1].mean()
            for begin, end in zip(
                micro_batch.cu_seqlens_padded[:-1],
                micro_batch.cu_seqlens_padded[1:],
                strict=True,
            )
            for i in range(begin, end)
        ]
        assert np.allclose(result, expected)


def test_ranks_have_the_tokens_that_the_plan_gives_them() -> None:
    for micro_batch in random_steps.micro_batches("te_thd", 3, random_steps.SPLIT):
        for rank in range(3):
            slices = micro_batch.slices(rank)
            own = [
                place
                for begin, count in zip(
                    slices.padded_begin, np.diff(slices.local_begin), strict=True
                )
                for place in range(begin, begin + count)
            ]
            indices = te_thd_indices(micro_batch, rank)
            assert set(own) <= set(indices.tolist())
            assert len(own) + slices.padding == indices.size


def test_documents_that_are_not_padded_for_it_are_refused() -> None:
    for layout, sharding in (
        ("native", "SHARDING_PER_DOCUMENT"),
        ("te_thd", "SHARDING_PER_SEQUENCE"),
    ):
        micro_batch = random_steps.of_documents(
            [9], layout=layout, context=2, changes={"sharding": sharding}
        )
        with pytest.raises(InvalidArgumentError, match=r"^(layout|sharding): "):
            te_thd_indices(micro_batch, 0)


def test_a_rank_outside_the_group_is_refused() -> None:
    micro_batch = random_steps.of_documents([9], layout="te_thd", context=2)
    with pytest.raises(InvalidArgumentError, match=r"^cp_rank: 2 .* 0 to 1$"):
        te_thd_indices(micro_batch, 2)
