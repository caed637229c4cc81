"""Tests of a run: its gradient, its rate, and what it notes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from arms import arm_named
from decoder import Decoder
from token_corpus import TokenCorpus
from training import HeldOut, Setting, Stream, micro_batch_losses, train


def test_a_steps_loss_is_the_mean_over_the_tokens_that_are_predicted(
    corpus: TokenCorpus, setting: Setting
) -> None:
    stream = Stream(corpus, setting, 1)
    model = setting.model(1)
    step = stream.steps(arm_named("wlb_1"))[3]
    each = [model(stream.packed(m)) for m in step]
    tokens = sum(int((stream.lengths[m] - 1).sum()) for m in step)
    assert len({int(stream.lengths[m].sum()) for m in step}) > 1
    expected = sum(losses.sum().item() for losses in each) / tokens
    parts = [loss.item() for loss in micro_batch_losses(model, stream, step)]
    assert sum(parts) == pytest.approx(expected, rel=1e-5)


def test_a_steps_gradient_does_not_depend_on_its_micro_batches(
    corpus: TokenCorpus, setting: Setting
) -> None:
    stream = Stream(corpus, setting, 1)
    model = setting.model(1).double()
    step = stream.steps(arm_named("fixed_greedy_1"))[2]
    together = [[np.sort(np.concatenate(step))], list(step)]
    found = []
    for micro_batches in together:
        model.zero_grad()
        for loss in micro_batch_losses(model, stream, micro_batches):
            loss.backward()
        found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(found[0], found[1])


def test_arms_of_a_seed_begin_alike_and_train_on_the_same_tokens(
    corpus: TokenCorpus, setting: Setting
) -> None:
    streams = [Stream(corpus, setting, 4) for _ in range(2)]
    held_out = HeldOut.of_corpus(corpus)
    first = train(streams[0], arm_named("unpacked"), held_out)
    second = train(streams[1], arm_named("fixed_greedy_8"), held_out)
    assert sum(first.tokens) == sum(second.tokens) >= setting.tokens
    assert sum(first.long_tokens) == sum(second.long_tokens) > 0
    assert first.losses != second.losses
    assert first.losses[0] == pytest.approx(second.losses[0], rel=0.1)


def test_a_run_learns_and_can_be_done_again(
    corpus: TokenCorpus, setting: Setting
) -> None:
    stream, held_out = Stream(corpus, setting, 1), HeldOut.of_corpus(corpus)
    run = train(stream, arm_named("wlb_3"), held_out)
    assert train(stream, arm_named("wlb_3"), held_out) == run
    assert len(run.losses) == len(run.tokens)
    assert [round(part * 3) for part, _ in run.held_out] == [1, 2, 3]
    assert run.held_out[-1][0] == 1.0
    assert run.final["all"] == pytest.approx(run.held_out[-1][1])
    assert run.final["all"] < run.held_out[0][1] < np.log(40)


def test_a_run_can_be_watched(corpus: TokenCorpus, setting: Setting) -> None:
    stream, held_out = Stream(corpus, setting, 1), HeldOut.of_corpus(corpus)
    seen: list[tuple[float, float]] = []

    def watch(part: float, model: Decoder) -> None:
        seen.append((part, float(held_out.losses(model).mean())))

    run = train(stream, arm_named("unpacked"), held_out, watch)
    parts = np.cumsum(run.tokens) / sum(run.tokens)
    assert [part for part, _ in seen] == pytest.approx(parts.tolist())
    assert seen[-1][1] == pytest.approx(run.final["all"])


def test_held_out_parts_make_up_the_whole(
    corpus: TokenCorpus, setting: Setting
) -> None:
    held_out = HeldOut.of_corpus(corpus)
    losses = held_out.losses(setting.model(1))
    lengths = corpus.lengths[corpus.held_out]
    assert len(losses) == int((lengths - 1).sum())
    parts = held_out.parts(losses, 64)
    long = float((lengths[lengths >= 24] - 1).sum()) / len(losses)
    mean = long * parts["long"] + (1 - long) * parts["short"]
    assert mean == pytest.approx(parts["all"], rel=1e-5)
    assert held_out.positions.max() == lengths.max() - 2


def test_the_rate_rises_and_falls_by_tokens(setting: Setting) -> None:
    rates = [setting.rate(done) for done in (0.0, 0.025, 0.05, 0.525, 1.0)]
    assert rates == pytest.approx([1e-3, 5e-3, 1e-2, 5.5e-3, 1e-3])
    assert replace(setting, last_rate=0.5).rate(1.0) == pytest.approx(5e-3)
