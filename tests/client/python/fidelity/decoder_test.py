"""Tests that a packed micro-batch is to the model what its documents are one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from decoder import Decoder, pack
from numpy.typing import NDArray

LENGTHS = (1, 3, 40, 17, 16, 64, 33, 2)


@pytest.fixture
def model() -> Decoder:
    """In double precision, so that sums in another order agree."""
    torch.manual_seed(0)
    return Decoder(vocabulary=30, context=64, width=16, heads=2, layers=2).double()


@pytest.fixture
def documents() -> list[NDArray[np.uint16]]:
    """Of lengths on both sides of the buckets' bounds."""
    random = np.random.default_rng(1)
    return [random.integers(0, 30, n).astype(np.uint16) for n in LENGTHS]


def _gradient(model: Decoder) -> torch.Tensor:
    return torch.cat(
        [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    )


def test_losses_and_gradient_are_those_of_documents_one_by_one(
    model: Decoder, documents: list[NDArray[np.uint16]]
) -> None:
    losses = model(pack(documents))
    losses.sum().backward()
    packed = _gradient(model)
    model.zero_grad()
    alone = [model(pack([document])) for document in documents]
    torch.stack([one.sum() for one in alone]).sum().backward()
    torch.testing.assert_close(losses, torch.cat(alone))
    torch.testing.assert_close(packed, _gradient(model))
    assert packed.abs().max() > 0.1


def test_attention_is_causal(
    model: Decoder, documents: list[NDArray[np.uint16]]
) -> None:
    document = documents[2]
    changed = document.copy()
    changed[20] = (changed[20] + 1) % 30
    before, after = model(pack([document])), model(pack([changed]))
    # Token 19 predicts the one that was changed.
    torch.testing.assert_close(before[:19], after[:19])
    assert (before[20:-1] != after[20:-1]).all()


def test_nothing_is_predicted_behind_a_document(
    model: Decoder, documents: list[NDArray[np.uint16]]
) -> None:
    packed = pack(documents)
    lasts = np.cumsum(LENGTHS) - 1
    assert packed.labels[lasts].tolist() == [-100] * len(LENGTHS)
    assert int((packed.labels >= 0).sum()) == sum(LENGTHS) - len(LENGTHS)
    assert packed.positions[lasts].tolist() == [n - 1 for n in LENGTHS]
    assert (model(packed)[lasts] == 0).all()


def test_a_model_knows_nothing_at_first() -> None:
    torch.manual_seed(0)
    model = Decoder(vocabulary=30, context=64, width=16, heads=2, layers=2)
    tokens = np.arange(64, dtype=np.uint16) % 30
    mean = float(model(pack([tokens])).detach().sum()) / 63
    assert mean == pytest.approx(np.log(30), rel=0.1)
