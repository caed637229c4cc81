"""What is prepared once, and for whom."""

from __future__ import annotations

import example_attention
import pytest
import torch
from evenpack.attention_workers import AttentionForm
from evenpack.attention_workers.prepared_micro_batches import (
    PreparedMicroBatches,
)
from evenpack.errors import InvalidArgumentError

FORM = AttentionForm(torch.float32, query_heads=4, kv_heads=2, head_size=64)


def test_layers_of_one_form_share_what_is_prepared() -> None:
    """Until the step is over; other forms and micro-batches have their own."""
    first, second = example_attention.steps(2, 1)[0]
    prepared = PreparedMicroBatches(cp_rank=1)
    once = prepared.of(first, FORM)
    assert once.rows == int(first.rank_tokens[1] + first.rank_padding[1])
    assert prepared.of(first, FORM) is once
    assert prepared.of(second, FORM) is not once
    sliding = AttentionForm(torch.float32, 4, 2, 64, sliding_window=8)
    assert prepared.of(first, sliding) is not once
    assert prepared.of(first, FORM) is once
    prepared.clear()
    assert prepared.of(first, FORM) is not once


def test_it_keeps_no_more_than_it_may() -> None:
    """Those used last."""
    (first, *_) = example_attention.steps(1, 1)[0]
    prepared = PreparedMicroBatches(0)
    once = prepared.of(first, FORM)
    for window in range(1, 256):
        prepared.of(first, AttentionForm(torch.float32, 4, 2, 64, 0.0, window))
    assert prepared.of(first, FORM) is once
    for window in range(1, 257):
        prepared.of(first, AttentionForm(torch.float32, 4, 2, 64, 0.0, window))
    assert prepared.of(first, FORM) is not once


def test_forms_that_cannot_be_are_refused() -> None:
    """Naming the number."""
    (first, *_) = example_attention.steps(2, 1)[0]
    with pytest.raises(InvalidArgumentError, match="head_size: 63"):
        PreparedMicroBatches(0).of(first, AttentionForm(torch.float32, 4, 2, 63))
    with pytest.raises(InvalidArgumentError, match=r"kv_heads: -2 .*: 0 to 4294967295"):
        PreparedMicroBatches(0).of(first, AttentionForm(torch.float32, 4, -2, 64))
