"""Tests of the padded sequence's columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.hf_flat import hf_flat_batch
from evenpack.layouts.native import native_batch
from evenpack.layouts.padded_sequence import padded_places, padded_sequence


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.any_job())
def test_each_document_is_where_its_padded_start_says(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        ids = random_steps.token_ids(micro_batch)
        columns = padded_sequence(micro_batch, ids, pad_token=-7)
        tokens = np.full(micro_batch.padded_tokens, -7)
        positions = np.full(micro_batch.padded_tokens, -1)
        labels = np.full(micro_batch.padded_tokens, -100)
        starts = micro_batch.cu_seqlens_padded.tolist()
        for i, length in enumerate(micro_batch.length.tolist()):
            begin, end = starts[i], starts[i + 1]
            own = ids[micro_batch.cu_seqlens[i] : micro_batch.cu_seqlens[i + 1]]
            tokens[begin : begin + length] = own
            labels[begin : begin + length - 1] = own[1:]
            positions[begin:end] = np.arange(end - begin)
        assert columns.tokens.tolist() == tokens.tolist()
        assert columns.position_ids.tolist() == positions.tolist()
        assert columns.labels.tolist() == labels.tolist()
        assert columns.loss_mask.tolist() == (labels != -100).tolist()


def test_columns_have_the_types_that_trainers_take() -> None:
    micro_batch = random_steps.of_documents([5, 3], layout="te_thd", context=2)
    columns = padded_sequence(micro_batch, np.arange(8, dtype=np.uint16))
    assert columns.tokens.dtype == np.int64
    assert columns.position_ids.dtype == np.int64
    assert columns.labels.dtype == np.int64
    assert columns.loss_mask.dtype == np.float32


def test_padding_is_behind_its_document() -> None:
    micro_batch = random_steps.of_documents([5, 3], layout="te_thd", context=2)
    assert padded_places(micro_batch).tolist() == [0, 1, 2, 3, 4, 8, 9, 10]
    columns = padded_sequence(
        micro_batch, np.arange(10, 18), following=np.array([99, -1])
    )
    assert columns.tokens.tolist() == [10, 11, 12, 13, 14, 0, 0, 0, 15, 16, 17, 0]
    assert columns.labels.tolist() == [
        *(11, 12, 13, 14, 99, -100, -100, -100),
        *(16, 17, -100, -100),
    ]


def test_the_loss_mask_is_of_the_position_that_predicts() -> None:
    micro_batch = random_steps.of_documents([4], layout="te_thd", context=1)
    counted = np.array([False, False, True, False])
    columns = padded_sequence(micro_batch, np.arange(4), counted=counted)
    assert columns.loss_mask.tolist() == [0, 1, 0, 0]


def test_entries_are_taken_from_all_columns() -> None:
    micro_batch = random_steps.of_documents([4])
    part = padded_sequence(micro_batch, np.arange(4)).take(np.array([2, 0]))
    assert part.tokens.tolist() == [2, 0]
    assert part.position_ids.tolist() == [2, 0]
    assert part.labels.tolist() == [3, 1]
    assert part.loss_mask.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("pad_token", "shown"), [(None, "None"), ("x", "'x'"), (1.5, "1.5")]
)
def test_a_token_of_padding_that_is_no_integer_is_named(
    pad_token: Any,  # noqa: ANN401
    shown: str,
) -> None:
    """By all that pad."""
    micro_batch = random_steps.of_documents([3])
    ids = random_steps.token_ids(micro_batch)
    calls: list[Callable[[], object]] = [
        lambda: padded_sequence(micro_batch, ids, pad_token=pad_token),
        lambda: hf_flat_batch(micro_batch, ids, pad_token=pad_token),
        lambda: native_batch(micro_batch, ids, 0, pad_token=pad_token),
    ]
    for call in calls:
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        assert str(caught.value) == (
            f"pad_token: {shown} is not accepted; accepted: an integer, "
            "-9223372036854775808 to 9223372036854775807"
        )
