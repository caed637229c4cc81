"""Tests of what a rank holds for Evenpack's own executor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.native import native_batch


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.any_job())
def test_ranks_hold_each_token_once_and_their_padding_behind_them(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        ids = random_steps.token_ids(micro_batch)
        held: list[int] = []
        for rank in range(context):
            batch = native_batch(micro_batch, ids, rank, pad_token=-7)
            own = int(micro_batch.rank_tokens[rank])
            padding = int(micro_batch.rank_padding[rank])
            held += batch.tokens[:own].tolist()
            assert batch.tokens[own:].tolist() == [-7] * padding
            assert batch.labels[own:].tolist() == [-100] * padding
            assert batch.position_ids.size == batch.loss_mask.size == own + padding
            assert (ids[batch.token_indices] == batch.tokens[:own]).all()
            assert (batch.loss_mask == (batch.labels != -100)).all()
        assert sorted(held) == sorted(ids.tolist())


@pytest.mark.parametrize("context", [2, 3])
def test_labels_are_those_of_the_whole_even_at_a_slices_end(context: int) -> None:
    for micro_batch in random_steps.micro_batches(
        "native", context, random_steps.PLAIN
    ):
        ids = random_steps.token_ids(micro_batch)
        predicted = []
        for rank in range(context):
            batch = native_batch(micro_batch, ids, rank)
            known = batch.labels != -100
            assert (batch.labels[known] == batch.tokens[known] + 1).all()
            assert (ids[batch.token_indices] == batch.tokens).all()
            positions = micro_batch.position_ids[batch.token_indices]
            assert batch.position_ids.tolist() == positions.tolist()
            predicted.append(known.sum())
        assert sum(predicted) == micro_batch.tokens - micro_batch.documents


def test_a_rank_outside_the_group_is_refused() -> None:
    micro_batch = random_steps.of_documents([8], context=2)
    with pytest.raises(InvalidArgumentError, match=r"^cp_rank: -1 is not accepted"):
        native_batch(micro_batch, np.arange(8), -1)
