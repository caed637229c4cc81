"""Tests of the native Step, MicroBatch and Slices."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import example_jobs
import numpy as np
import pytest
from evenpack import MicroBatch, PackedDataset, Slices, Step
from evenpack._native import Spec
from evenpack.errors import DataLossError, InvalidArgumentError
from evenpack.v1.step_pb2 import Step as StepMessage
from numpy.typing import NDArray

# Of the tokens of a micro-batch, the lowest; none fits a signed integer of 32 bits.
FIRST_ID = (1 << 32) - 100_000


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


@pytest.mark.parametrize("name", ["sequence", "id", "rank_tokens", "rank_padding"])
def test_pytorch_takes_a_column_of_64_bits_without_a_copy(name: str) -> None:
    """numpy has two types of them, of which PyTorch knows one."""
    torch = pytest.importorskip("torch")
    column = getattr(_steps(1)[0][0], name)
    assert column.dtype.char == np.dtype(np.uint64).char
    tensor = torch.from_numpy(column)
    assert tensor.dtype is torch.uint64
    assert tensor.tolist() == column.tolist()
    column[0] = 7
    assert tensor[0].item() == 7


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
        again = pickle.loads(pickle.dumps(step))
        assert again.to_bytes() == step.to_bytes()
        assert again.spec == step.spec
        again.verify(step.previous_digest)
        assert again[0].slices(0).end.tolist() == step[0].slices(0).end.tolist()


def _said(thing: object) -> dict[str, object]:
    """What its properties say, by name."""
    said = {}
    for name in dir(type(thing)):
        if isinstance(getattr(type(thing), name), property) and name != "plan":
            value = getattr(thing, name)
            said[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return said


def _through_pickle(thing: object) -> object:
    return pickle.loads(pickle.dumps(thing))


COPIES = pytest.mark.parametrize("copied", [_through_pickle, copy.deepcopy, copy.copy])


@COPIES
@pytest.mark.parametrize("layout", ["NATIVE", "MEGATRON_THD", "RING_LLAMA3"])
def test_a_copy_of_a_micro_batch_says_the_same(
    layout: str, copied: Callable[[object], object]
) -> None:
    """Without its step, which may be gone; a rank's slices come along."""
    for step in _steps(3, consumer_layout={"layout": f"LAYOUT_{layout}"}):
        for micro_batch in step:
            again = copied(micro_batch)
            assert isinstance(again, MicroBatch)
            assert _said(again) == _said(micro_batch)
            assert len(_said(again)) > 20
            assert _said(again.slices(1)) == _said(micro_batch.slices(1))


@COPIES
def test_a_copy_of_slices_says_the_same(copied: Callable[[object], object]) -> None:
    """Each column, and its type."""
    slices = _steps(1)[0][0].slices(1)
    again = copied(slices)
    assert isinstance(again, Slices)
    assert _said(again) == _said(slices)
    assert len(_said(again)) == 10
    assert again.end.dtype == np.uint32
    assert again.local_begin.dtype == np.int32


@COPIES
def test_a_copy_of_a_step_is_the_same_to_the_byte(
    copied: Callable[[object], object],
) -> None:
    """As it is where a trainer keeps a few."""
    (step,) = _steps(1)
    again = copied(step)
    assert isinstance(again, Step)
    assert again.to_bytes() == step.to_bytes()


def _same(
    step: Step, micro_batch: MicroBatch, slices: Slices
) -> tuple[Step, MicroBatch, Slices]:
    return step, micro_batch, slices


def test_a_micro_batch_goes_to_a_spawned_process_and_back() -> None:
    """Through multiprocessing's queues, with its step and slices beside it."""
    context = multiprocessing.get_context("spawn")
    (step,) = _steps(1)
    with ProcessPoolExecutor(1, context) as pool:
        sent = pool.submit(_same, step, step[1], step[1].slices(0))
        again, micro_batch, slices = sent.result(timeout=120)
    assert again.to_bytes() == step.to_bytes()
    assert _said(micro_batch) == _said(step[1])
    assert _said(slices) == _said(step[1].slices(0))


def test_a_micro_batch_is_saved_by_torch(tmp_path: Path) -> None:
    """And loaded where classes are allowed."""
    torch = pytest.importorskip("torch")
    (step,) = _steps(1)
    torch.save({"micro_batch": step[0]}, tmp_path / "saved.pt")
    again = torch.load(tmp_path / "saved.pt", weights_only=False)["micro_batch"]
    assert _said(again) == _said(step[0])


def _places(micro_batch: MicroBatch, *, cp_rank: bool) -> NDArray[np.int64]:
    """Within the micro-batch, of the tokens that a subscription has."""
    if cp_rank:
        return micro_batch.slices(1).token_indices.astype(np.int64)
    return np.arange(micro_batch.tokens)


def _with_tokens(step: Step, *, cp_rank: bool) -> Step:
    """The step as a server sends it where the payload travels by value.

    A token's id is its place in the micro-batch, from FIRST_ID on.
    """
    message = StepMessage.FromString(step.to_bytes())
    for micro_batch, view in zip(message.micro_batches, step, strict=True):
        if not cp_rank:
            micro_batch.ClearField("slices")
        ids = (_places(view, cp_rank=cp_rank) + FIRST_ID).astype("<u4")
        micro_batch.documents.token_ids = ids.tobytes()
    return Step.read(message.SerializeToString(), Spec(step.spec))


@pytest.mark.parametrize("cp_rank", [False, True])
def test_token_ids_are_those_that_came(cp_rank: bool) -> None:
    """Of the rank's part where it was asked for, else of all documents."""
    for step in _steps(3):
        for micro_batch in _with_tokens(step, cp_rank=cp_rank):
            ids = micro_batch.token_ids
            assert ids is not None
            assert ids.dtype == np.uint32
            places = ids.astype(np.int64) - FIRST_ID
            assert (places == _places(micro_batch, cp_rank=cp_rank)).all()


def test_token_ids_are_none_where_none_came() -> None:
    """As for a job whose payload travels by reference."""
    for step in _steps(2):
        assert [micro_batch.token_ids for micro_batch in step] == [None, None]


def test_token_ids_are_none_of_nothing() -> None:
    """A micro-batch without documents lacks no token."""
    (step,) = PackedDataset(spec=example_jobs.spec(), lengths=[5], dp_rank=1)
    for micro_batch in step:
        assert micro_batch.tokens == 0
        assert micro_batch.token_ids is not None
        assert micro_batch.token_ids.tolist() == []


@pytest.mark.parametrize("cp_rank", [False, True])
def test_token_ids_survive_pickling_and_bytes(cp_rank: bool) -> None:
    """They come out of a DataLoader's worker, too."""
    for step in _steps(3):
        given = _with_tokens(step, cp_rank=cp_rank)
        again = pickle.loads(pickle.dumps(given))
        assert again.to_bytes() == given.to_bytes() != step.to_bytes()
        for one, other in zip(again, given, strict=True):
            assert (one.token_ids == other.token_ids).all()
            assert _said(_through_pickle(other)) == _said(other)


def test_a_writer_of_token_ids_writes_to_a_copy() -> None:
    """As of the other columns."""
    step = _with_tokens(_steps(3)[0], cp_rank=True)
    ids = step[0].token_ids
    assert ids is not None
    ids[:] = 0
    assert step[0].token_ids is not None
    assert (step[0].token_ids > 0).all()


def test_another_number_of_token_ids_is_data_loss() -> None:
    """The message has both numbers of bytes."""
    step = _steps(1)[0]
    message = StepMessage.FromString(step.to_bytes())
    message.micro_batches[1].documents.token_ids = b"12345"
    own = step[1].slices(1).tokens
    expected = f"documents.token_ids has 5 bytes; expected: {4 * own}, for {own} tokens"
    with pytest.raises(DataLossError, match=f"step 0, micro-batch 3: {expected}"):
        Step.read(message.SerializeToString(), Spec(step.spec))


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


@pytest.mark.parametrize("index", [2, 100, -3])
def test_a_micro_batch_that_there_is_not(index: int) -> None:
    """As of a list."""
    with pytest.raises(IndexError, match=f"micro-batch {index} .*accepted: -2 to 1"):
        _steps(1)[0][index]


def test_micro_batches_are_counted_from_the_end_as_well() -> None:
    """As of a list."""
    (step,) = _steps(1)
    assert [step[-2].index, step[-1].index] == [step[0].index, step[1].index]


@pytest.mark.parametrize("rank", [2, -1])
def test_a_rank_that_there_is_not(rank: int) -> None:
    """The message says which there are."""
    named = f"cp_rank: {rank} .* accepted: 0 to 1"
    with pytest.raises(InvalidArgumentError, match=named):
        _steps(1)[0][0].slices(rank)
