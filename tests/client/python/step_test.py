"""Tests of the native Step, MicroBatch and Slices."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import example_jobs
import numpy as np
import pytest
from evenpack import PackedDataset, Step
from evenpack.errors import DataLossError, InvalidArgumentError


def _steps(count: int = 5, **changes: object) -> Sequence[Step]:
    dataset = PackedDataset(
        spec=example_jobs.spec(**changes),
        lengths=example_jobs.lengths(500),
        dp_rank=1,
        cp_rank=1,
    )
    return [step for step, _ in zip(dataset, range(count), strict=False)]


def test_columns_agree_with_each_other() -> None:
    """What a trainer builds its tensors from."""
    for step in _steps():
        for micro_batch in (step[i] for i in range(len(step))):
            ends = np.cumsum(micro_batch.length)
            assert micro_batch.cu_seqlens.tolist() == [0, *ends.tolist()]
            assert micro_batch.tokens == ends[-1]
            expected = np.concatenate([np.arange(n) for n in micro_batch.length])
            assert (micro_batch.position_ids == expected).all()
            assert micro_batch.max_seqlen == micro_batch.length.max()
            squares = micro_batch.length.astype(np.uint64) ** 2
            assert micro_batch.sum_squared_lengths == squares.sum()


def test_the_ranks_slices_have_each_token_once() -> None:
    """Over the context-parallel group."""
    for step in _steps():
        for micro_batch in (step[i] for i in range(len(step))):
            indices = np.concatenate(
                [micro_batch.slices(r).token_indices for r in range(2)]
            )
            assert sorted(indices.tolist()) == list(range(micro_batch.tokens))
            assert micro_batch.rank_tokens.sum() == micro_batch.tokens
            assert micro_batch.cp_rank == 1


@pytest.mark.parametrize("layout", ["NATIVE", "MEGATRON_THD", "RING_LLAMA3"])
@pytest.mark.parametrize("split_overlong", [False, True])
def test_a_step_survives_pickling_and_bytes(layout: str, split_overlong: bool) -> None:
    """To the byte: it comes out of a DataLoader's worker."""
    changes: dict[str, object] = {"consumer_layout": {"layout": f"LAYOUT_{layout}"}}
    if split_overlong:
        changes |= {"split_overlong": True, "window": 1000, "policy": {}}
    for step in _steps(5, **changes):
        copy = pickle.loads(pickle.dumps(step))
        assert copy.to_bytes() == step.to_bytes()
        assert copy.spec == step.spec
        copy.verify(step.previous_digest)
        assert copy[0].slices(0).end.tolist() == step[0].slices(0).end.tolist()


def test_arrays_outlive_their_step() -> None:
    """They are copies."""
    lengths = _steps(1)[0][0].length
    assert lengths.sum() > 0
    lengths[:] = 0
    assert (_steps(1)[0][0].length > 0).all()


def test_a_step_of_another_history_is_data_loss() -> None:
    """The chain of digests is computed."""
    first, second = _steps(2)
    second.verify(first.digest)
    with pytest.raises(DataLossError, match="step 1"):
        second.verify(second.digest)


@pytest.mark.parametrize("index", [2, 100])
def test_a_micro_batch_that_there_is_not(index: int) -> None:
    """As of a list."""
    with pytest.raises(IndexError):
        _steps(1)[0][index]


def test_a_rank_that_there_is_not() -> None:
    """The message says which there are."""
    with pytest.raises(InvalidArgumentError, match=r"cp_rank: 2 .* accepted: 0 to 1"):
        _steps(1)[0][0].slices(2)
