"""Tests that torchtitan's trainer gets balanced micro-batches and saves their place."""

from __future__ import annotations

import warnings
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import example_jobs
import numpy as np
import pytest
import random_steps
from evenpack import PackedDataset
from evenpack.errors import (
    CancelledError,
    FailedPreconditionError,
    InvalidArgumentError,
)

with warnings.catch_warnings():
    # torchtitan, which this imports where it is installed, is not ours to mend.
    warnings.simplefilter("ignore")
    from evenpack.adapters.torchtitan_loader import TorchtitanLoader

if TYPE_CHECKING:
    from torch import Tensor

torch = pytest.importorskip("torch")

DOCUMENTS = example_jobs.lengths(600)
# Micro-batches of a rank's step.
OF_STEP = 2


def _dataset(dp_rank: int, ranks: int = 2) -> PackedDataset:
    parallelism = {"data": ranks, "micro_batches_per_rank": OF_STEP}
    spec = example_jobs.spec(
        parallelism=parallelism, consumer_layout={"pad_tokens_to": 64}
    )
    return PackedDataset(spec=spec, lengths=DOCUMENTS, dp_rank=dp_rank)


def _loader(ranks: int = 2, rank: int = 1, **changes: int) -> TorchtitanLoader:
    """As torchtitan's trainer makes one."""
    config = TorchtitanLoader.Config(
        dataset_of=lambda dp_rank: _dataset(dp_rank, ranks),
        tokens_of=random_steps.token_ids,
        pad_token=5,
    )
    runtime: dict[str, Any] = {
        "dp_world_size": ranks,
        "dp_rank": rank,
        "tokenizer": None,
        "seq_len": example_jobs.WINDOW,
        "local_batch_size": 1,
        "snapshot_every_n_steps": 1,
    }
    runtime |= changes
    build = getattr(config, "build", None)
    if build is not None:
        return build(**runtime)
    return TorchtitanLoader(config, **runtime)


Item = tuple[dict[str, "Tensor"], "Tensor"]


def _values(item: Item) -> list[list[int]]:
    given, labels = item
    return [given["input"].tolist(), given["positions"].tolist(), labels.tolist()]


EXPECTED = [_values(item) for item in _loader()]


def test_items_are_rows_of_tokens_positions_and_labels() -> None:
    """Of the rank's micro-batches in order."""
    batches = [step[i] for step in _dataset(1) for i in range(OF_STEP)]
    items = list(_loader())
    assert len(items) == len(batches) > 10
    for (given, labels), batch in zip(items, batches, strict=True):
        assert given.keys() == {"input", "positions"}
        for column in (given["input"], given["positions"], labels):
            assert column.dtype == torch.int64
            assert column.shape == (1, batch.padded_tokens)
        tokens = random_steps.token_ids(batch)
        padding = batch.padding
        assert given["input"][0].tolist() == tokens.tolist() + [5] * padding
        positions = batch.position_ids.tolist() + [0] * padding
        assert given["positions"][0].tolist() == positions
        next_tokens = np.append(tokens, -1)[1:]
        next_tokens[batch.cu_seqlens[1:] - 1] = -100
        assert labels[0].tolist() == next_tokens.tolist() + [-100] * padding


def test_a_loader_resumes_behind_each_step() -> None:
    loader = _loader()
    items = iter(loader)
    for taken in range(0, len(EXPECTED), OF_STEP):
        again = _loader()
        again.load_state_dict(loader.state_dict())
        first = [_values(item) for item in islice(again, OF_STEP)]
        assert first == EXPECTED[taken : taken + OF_STEP]
        assert len(list(islice(items, OF_STEP))) == OF_STEP
    assert list(items) == []


def test_a_step_of_which_a_part_was_taken_is_not_saved() -> None:
    """Or its rest would be lost; the trainer accumulates too few."""
    loader = _loader()
    next(iter(loader))
    with pytest.raises(FailedPreconditionError, match=r"1 of a step's 2 .*_size 4"):
        loader.state_dict()


def test_an_iteration_that_was_left_within_a_step_is_not_begun_again() -> None:
    """Without a word the rest of the step would be lost."""
    loader = _loader()
    assert len(list(islice(loader, OF_STEP))) == OF_STEP
    before = loader.state_dict()
    next(iter(loader))
    with pytest.raises(FailedPreconditionError, match="load_state_dict"):
        next(iter(loader))
    loader.load_state_dict(before)
    assert [_values(item) for item in loader] == EXPECTED[OF_STEP:]


def test_a_run_goes_on_with_another_number_of_ranks() -> None:
    """With any rank's state, and with each document once."""
    states, documents = [], []

    def take(loader: TorchtitanLoader, items: int | None) -> None:
        for given, _ in islice(loader, items):
            row = given["input"][0]
            starts = row[(given["positions"][0] == 0) & (row != 5)]
            documents.extend((starts // random_steps.DOCUMENT_IDS).tolist())

    for rank in range(2):
        loader = _loader(rank=rank)
        take(loader, 3 * OF_STEP)
        states.append(loader.state_dict())
    assert states[0] == states[1]
    alone = _loader(ranks=1, rank=0)
    alone.load_state_dict(states[1])
    take(alone, None)
    assert sorted(documents) == list(range(len(DOCUMENTS)))


@pytest.mark.filterwarnings("ignore")
def test_a_distributed_checkpoint_has_the_state(tmp_path: Path) -> None:
    """Which is how torchtitan saves; a new loader asks for what an old one saved."""
    checkpoint = pytest.importorskip("torch.distributed.checkpoint")
    loader = _loader()
    list(islice(loader, 2 * OF_STEP))
    checkpoint.save({"dataloader": loader}, checkpoint_id=tmp_path, no_dist=True)
    again = _loader()
    checkpoint.load({"dataloader": again}, checkpoint_id=tmp_path, no_dist=True)
    assert [_values(item) for item in again] == EXPECTED[2 * OF_STEP :]


def test_nothing_saved_is_the_beginning() -> None:
    loader = _loader()
    loader.load_state_dict({})
    assert _values(next(iter(loader))) == EXPECTED[0]


def test_a_loader_has_its_dataset_to_mark_as_durable() -> None:
    loader = _loader()
    list(islice(loader, OF_STEP))
    loader.dataset.ack_durable()
    assert loader.dataset.state_dict() == loader.state_dict()["evenpack"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local_batch_size": 2}, "local_batch_size: 2 is not accepted; accepted: 1"),
        ({"dp_world_size": 4}, "dp_world_size: 4 is not accepted; accepted: 2, "),
        ({"seq_len": 20}, "seq_len: 20 is not accepted; accepted: at least "),
    ],
)
def test_a_trainer_that_does_not_suit_the_job_is_refused(
    changes: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        next(iter(_loader(**changes)))
    assert str(error.value).startswith(message)


def test_a_loader_that_has_failed_does_not_say_that_the_job_is_over() -> None:
    """Who asks again would take it for the end."""
    items = iter(_loader(seq_len=1))
    with pytest.raises(InvalidArgumentError, match="seq_len"):
        next(items)
    with pytest.raises(CancelledError, match="this iteration has ended with"):
        next(items)


@pytest.mark.parametrize("missing", ["dataset_of", "tokens_of"])
def test_a_configuration_needs_a_dataset_and_tokens(missing: str) -> None:
    fields: dict[str, Any] = {"dataset_of": _dataset, "tokens_of": len}
    config = TorchtitanLoader.Config(**(fields | {missing: None}))
    with pytest.raises(InvalidArgumentError, match=f"^{missing}: None"):
        TorchtitanLoader(config, dp_world_size=2, dp_rank=0, seq_len=8)
    config = TorchtitanLoader.Config(**(fields | {missing: "gather"}))
    with pytest.raises(InvalidArgumentError, match=f"^{missing}: str"):
        TorchtitanLoader(config, dp_world_size=2, dp_rank=0, seq_len=8)


def test_a_state_of_another_loader_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="dp_rank_0, world_size is not"):
        _loader().load_state_dict({"dp_rank_0": b"", "world_size": 2})


@pytest.mark.filterwarnings("ignore")
def test_it_is_one_of_torchtitans_loaders() -> None:
    """Where torchtitan is installed."""
    dataloader = pytest.importorskip("torchtitan.components.dataloader")
    loader = _loader()
    assert isinstance(loader, dataloader.BaseDataLoader)
    assert isinstance(loader, TorchtitanLoader)
    fields = TorchtitanLoader.Config().to_dict()  # type: ignore[attr-defined]
    assert fields.keys() > {"dataset", "dataset_path", "dataset_of", "tokens_of"}
