"""Tests of the order in which ranks have documents that are cut head and tail."""

from __future__ import annotations

import numpy as np
import pytest
from evenpack.layouts.head_tail_order import head_tail_part
from numpy.typing import NDArray


def _random_starts(seed: int, context: int) -> NDArray[np.int32]:
    generator = np.random.default_rng(seed)
    chunks = generator.integers(1, 9, generator.integers(0, 12))
    starts = np.concatenate([[0], np.cumsum(chunks * 2 * context)])
    return starts.astype(np.int32)


def test_a_rank_has_a_head_and_a_tail_of_each_run() -> None:
    starts = np.array([0, 8, 12], np.int32)
    assert head_tail_part(starts, 2, 0).tolist() == [0, 1, 6, 7, 8, 11]
    assert head_tail_part(starts, 2, 1).tolist() == [2, 3, 4, 5, 9, 10]


def test_a_lone_rank_has_all_in_order_whatever_the_lengths() -> None:
    starts = np.array([0, 3, 4, 9], np.int32)
    assert head_tail_part(starts, 1, 0).tolist() == list(range(9))


@pytest.mark.parametrize("context", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("seed", range(8))
def test_ranks_have_each_token_once_and_equal_work(context: int, seed: int) -> None:
    starts = _random_starts(seed, context)
    parts = [head_tail_part(starts, context, rank) for rank in range(context)]
    together = np.sort(np.concatenate(parts))
    assert together.tolist() == list(range(starts[-1]))
    runs = [np.searchsorted(starts, part, side="right") - 1 for part in parts]
    # Keys that the queries of each rank see, by run: the same on all ranks.
    keys = [
        np.bincount(run, part - starts[run] + 1, len(starts))
        for run, part in zip(runs, parts, strict=True)
    ]
    assert (np.array(keys) == keys[0]).all()
    for run in runs:
        assert (np.diff(run) >= 0).all()
