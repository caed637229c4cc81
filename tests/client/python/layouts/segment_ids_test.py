"""Tests of segment ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack.layouts.segment_ids import segment_id_batch


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.any_job())
def test_each_document_has_its_number_and_padding_has_none(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        ids = random_steps.token_ids(micro_batch)
        batch = segment_id_batch(micro_batch, ids, pad_token=-7)
        segments = batch.segment_ids
        assert segments.shape == (micro_batch.padded_tokens,)
        assert segments.dtype == batch.positions.dtype == np.int32
        counts = np.bincount(segments, minlength=micro_batch.documents + 1)
        expected = [micro_batch.padding, *micro_batch.length.tolist()]
        assert counts.tolist() == expected
        assert (batch.tokens[segments == 0] == -7).all()
        assert (batch.positions[segments == 0] == 0).all()
        assert batch.tokens[segments > 0].tolist() == ids.tolist()
        positions = batch.positions[segments > 0]
        assert positions.tolist() == micro_batch.position_ids.tolist()


def test_a_token_predicts_only_one_of_its_own_segment() -> None:
    micro_batch = random_steps.of_documents([3, 2], layout="te_thd", context=2)
    batch = segment_id_batch(micro_batch, np.arange(1, 6))
    assert batch.segment_ids.tolist() == [1, 1, 1, 0, 2, 2, 0, 0]
    assert batch.labels.tolist() == [2, 3, -100, -100, 5, -100, -100, -100]
    assert batch.loss_mask.tolist() == [1, 1, 0, 0, 1, 0, 0, 0]
