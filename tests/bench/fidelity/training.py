"""One run: a model trained on the steps of an arm, with what was seen on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cos, pi

import numpy as np
import torch
from arms import Arm, Shape, Steps, steps_of
from decoder import Decoder, PackedTokens, pack
from evenpack.loss_weights import GradientReduction, token_weight
from numpy.typing import NDArray
from token_corpus import LONG_PART, TokenCorpus, training_stream
from torch import Tensor


@dataclass(frozen=True)
class Setting:
    """What all runs of a study share.

    Attributes:
        shape: of a step.
        tokens: that each run trains on, to the document.
        width, heads, layers, vocabulary: of the model.
        peak_rate: Adam's rate after warm-up. It follows tokens, not steps: up over the
            first `warm_up` of them, then down along a cosine to `last_rate` of it.
        clip: norm of a step's gradient, at most.
        evaluations: how often the held-out loss is taken, evenly by tokens.
    """

    shape: Shape
    tokens: int
    width: int
    heads: int
    layers: int
    vocabulary: int
    peak_rate: float
    warm_up: float = 0.05
    last_rate: float = 0.1
    clip: float = 1.0
    evaluations: int = 10

    def rate(self, done: float) -> float:
        """The learning rate with this part of all tokens trained on, 0 to 1."""
        if done < self.warm_up:
            return self.peak_rate * max(done, 0.1 * self.warm_up) / self.warm_up
        way = min((done - self.warm_up) / (1 - self.warm_up), 1.0)
        floor = self.last_rate
        return self.peak_rate * (floor + (1 - floor) * (1 + cos(pi * way)) / 2)

    def model(self, seed: int) -> Decoder:
        """The model before the first step: the same for all arms of a seed."""
        torch.manual_seed(seed)
        return Decoder(
            self.vocabulary, self.shape.context, self.width, self.heads, self.layers
        )


class Stream:
    """The documents of a seed, and how arms pack them."""

    def __init__(self, corpus: TokenCorpus, setting: Setting, seed: int) -> None:
        """Shuffles the corpus by the seed."""
        self.corpus = corpus
        self.setting = setting
        self.seed = seed
        self.documents = training_stream(corpus, seed, setting.tokens)
        self.lengths = corpus.lengths[self.documents]

    def steps(self, arm: Arm) -> Steps:
        """Places in the stream, by step and micro-batch."""
        return steps_of(arm, self.setting.shape, self.lengths)

    def packed(self, micro_batch: NDArray[np.int64]) -> PackedTokens:
        """The tokens of a micro-batch."""
        numbers = self.documents[micro_batch].tolist()
        return pack([self.corpus.document(number) for number in numbers])

    def token_counts(self, steps: Steps) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokens of each step, and those of them in long documents."""
        longest = LONG_PART * self.setting.shape.context
        counts = [np.concatenate([self.lengths[m] for m in step]) for step in steps]
        return (
            np.array([int(c.sum()) for c in counts]),
            np.array([int(c[c >= longest].sum()) for c in counts]),
        )


def micro_batch_losses(
    model: Decoder, stream: Stream, step: Sequence[NDArray[np.int64]]
) -> Iterator[Tensor]:
    """Of each micro-batch, its part of the mean loss over the step's tokens.

    A document's first token is predicted by nothing and does not count.
    """
    predicted = sum(int((stream.lengths[m] - 1).sum()) for m in step)
    weight = token_weight(predicted, GradientReduction())
    for micro_batch in step:
        yield model(stream.packed(micro_batch)).sum() * weight


@dataclass(frozen=True)
class HeldOut:
    """Documents that no run trains on, in batches of like length.

    Attributes:
        batches: of about 8,192 tokens.
        lengths: int64, of the document of each predicted token, in their order.
        positions: int64, of each predicted token within its document.
    """

    batches: list[PackedTokens]
    lengths: NDArray[np.int64]
    positions: NDArray[np.int64]

    @classmethod
    def of_corpus(cls, corpus: TokenCorpus) -> HeldOut:
        """All that the corpus holds out."""
        numbers = np.flatnonzero(corpus.held_out)
        lengths = corpus.lengths[numbers]
        order = np.argsort(lengths, kind="stable")
        numbers, lengths = numbers[order], lengths[order]
        groups = np.split(numbers, np.flatnonzero(np.diff(np.cumsum(lengths) // 8192)))
        batches = [pack([corpus.document(n) for n in g.tolist()]) for g in groups]
        counted = [(b.labels >= 0).numpy() for b in batches]
        positions = [
            b.positions.numpy()[c] for b, c in zip(batches, counted, strict=True)
        ]
        return cls(batches, np.repeat(lengths, lengths - 1), np.concatenate(positions))

    def losses(self, model: Decoder) -> NDArray[np.float32]:
        """Of each predicted token, in nats."""
        with torch.no_grad():
            found = [model(b)[b.labels >= 0].numpy() for b in self.batches]
        return np.concatenate(found)

    def parts(self, losses: NDArray[np.float32], context: int) -> dict[str, float]:
        """Mean loss of all tokens, of those of short and long documents, and by place.

        `position_a` is that of tokens from a on, up to the next one's.
        """
        long = self.lengths >= LONG_PART * context
        found = {"all": losses.mean(), "short": losses[~long].mean()}
        found["long"] = losses[long].mean()
        bounds = [0, context // 16, context // 4, context]
        for begin, end in pairwise(bounds):
            here = (self.positions >= begin) & (self.positions < end)
            found[f"position_{begin}"] = losses[here].mean()
        return {name: float(value) for name, value in found.items()}


@dataclass
class Run:
    """What a run gave.

    Attributes:
        tokens, long_tokens: of each step; the latter in documents from 3/8 L on.
        losses: of each step, before it: mean over the tokens predicted.
        held_out: mean held-out loss by the part of all tokens trained on, (part, loss).
        final: `HeldOut.parts` behind the last step.
    """

    tokens: list[int]
    long_tokens: list[int]
    losses: list[float]
    held_out: list[tuple[float, float]]
    final: dict[str, float]


def train(
    stream: Stream,
    arm: Arm,
    held_out: HeldOut,
    watch: Callable[[float, Decoder], None] | None = None,
) -> Run:
    """Trains a model on an arm's steps.

    Args:
        stream: whose seed initialises the model.
        arm: how it is packed.
        held_out: what the model is evaluated on.
        watch: is given the part of all tokens trained on and the model, behind each
            step.
    """
    setting, steps = stream.setting, stream.steps(arm)
    tokens, long_tokens = stream.token_counts(steps)
    ends = np.cumsum(tokens) / tokens.sum()
    model = setting.model(stream.seed)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.95), fused=True)
    run = Run(tokens.tolist(), long_tokens.tolist(), [], [], {})
    for step, end, count in zip(steps, ends.tolist(), tokens.tolist(), strict=True):
        begin = end - count / tokens.sum()
        for group in optimizer.param_groups:
            group["lr"] = setting.rate(begin)
        run.losses.append(_train_step(model, optimizer, stream, step))
        if int(end * setting.evaluations) > int(begin * setting.evaluations):
            losses = held_out.losses(model)
            run.held_out.append((end, float(losses.mean())))
            run.final = held_out.parts(losses, setting.shape.context)
        if watch is not None:
            watch(end, model)
    return run


def _train_step(
    model: Decoder,
    optimizer: torch.optim.Optimizer,
    stream: Stream,
    step: Sequence[NDArray[np.int64]],
) -> float:
    """Trains on a step; the mean loss of its tokens."""
    optimizer.zero_grad(set_to_none=True)
    mean = 0.0
    for loss in micro_batch_losses(model, stream, step):
        loss.backward()
        mean += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), stream.setting.clip)
    optimizer.step()
    return mean
