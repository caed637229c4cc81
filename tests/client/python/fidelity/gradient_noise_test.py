"""Tests of noise scales on gradients whose noise is known, and on a small model."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
import torch
from arms import arm_named
from gradient_noise import between, noise_of, within_steps
from token_corpus import TokenCorpus
from training import Setting, Stream

DIMENSIONS, SIGNAL, DEVIATION = 400, 0.05, 1.0
# tr(Sigma) / |G|^2 of gradients of one token with these.
SCALE = DEVIATION**2 / SIGNAL**2


def _means(tokens: np.ndarray, seed: int = 0) -> torch.Tensor:
    """Mean gradients of so many independent tokens each."""
    random = np.random.default_rng(seed)
    noise = random.normal(0, DEVIATION, (len(tokens), DIMENSIONS))
    return torch.from_numpy(SIGNAL + noise / np.sqrt(tokens)[:, None])


def test_the_scale_between_independent_steps_is_that_of_their_tokens() -> None:
    tokens = np.random.default_rng(1).integers(500, 1_500, 200).astype(float)
    sums = _means(tokens) * torch.from_numpy(tokens)[:, None]
    assert between(sums, tokens) == pytest.approx(SCALE, rel=0.05)


def test_steps_that_differ_in_kind_scatter_more() -> None:
    tokens = np.full(200, 1_000.0)
    means = _means(tokens)
    means[::2] += 0.1
    means[1::2] -= 0.1
    assert between(means * 1_000, tokens) > 3 * SCALE


def test_the_scale_within_steps_is_that_of_both_sizes() -> None:
    micro = np.full(4_000, 250.0)
    parts = _means(micro)
    steps = parts.view(1_000, 4, DIMENSIONS).mean(1)
    small = [(250.0, float(n)) for n in (parts**2).sum(1)]
    big = [(1_000.0, float(n)) for n in (steps**2).sum(1)]
    assert within_steps(small, big) == pytest.approx(SCALE, rel=0.05)


def test_gradients_without_a_signal_have_no_scale() -> None:
    assert isnan(within_steps([(1.0, 4.0)], [(4.0, 1.0)]))
    noise = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert isnan(between(noise, np.array([1.0, 1.0])))


def test_an_arms_noise_is_of_the_steps_behind_the_part_named(
    corpus: TokenCorpus, setting: Setting
) -> None:
    stream, model = Stream(corpus, setting, 1), setting.model(1)
    arm = arm_named("unpacked")
    noise = noise_of(model, stream, arm, begin=0.5, steps=16)
    assert noise.within > 0
    assert noise.between > 0
    assert noise != noise_of(model, stream, arm, begin=0.25, steps=16)
    with pytest.raises(ValueError, match=r"steps: 15 .*accepted: 16 to "):
        noise_of(model, stream, arm, begin=0.5, steps=15)
    with pytest.raises(ValueError, match=r"steps: 99 .*accepted: 16 to "):
        noise_of(model, stream, arm, begin=0.5, steps=99)
