"""How much gradients of an arm's steps scatter, at one and the same model.

The simple noise scale of McCandlish et al. (2018), "An Empirical Model of Large-Batch
Training", appendix A.1: tr(Sigma) / |G|^2 in tokens, Sigma being the covariance of one
token's gradient and G the gradient that is wanted. It is estimated twice:

- within steps, as the paper has it, from the squared norms of micro-batches' gradients
  and of their step's: what an independent draw of tokens would have;
- between steps, from how far whole steps are from the mean of all: what the optimizer
  meets. Steps of which one has the long documents and the next the short ones scatter
  more than independent draws of as many tokens, or less where all are made alike.

Both are over the same documents for all arms of a seed, but for those that an arm has
not brought yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from arms import Arm, Steps
from decoder import Decoder
from numpy.typing import NDArray
from torch import Tensor
from training import Stream


@dataclass(frozen=True)
class Noise:
    """Noise scales in tokens, NaN where |G|^2 was estimated as 0 or less.

    Attributes:
        within: from micro-batches and their steps.
        between: from steps.
        between_eight: from means over eight steps in a row, times eight's tokens; equal
            to `between` where steps are independent of those beside them.
    """

    within: float
    between: float
    between_eight: float


def _gradient(model: Decoder, stream: Stream, places: NDArray[np.int64]) -> Tensor:
    """Of the sum of a micro-batch's losses, all parameters in a row."""
    model.zero_grad(set_to_none=True)
    model(stream.packed(places)).sum().backward()
    parts = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    return torch.cat(parts)


def within_steps(
    small: Sequence[tuple[float, float]], big: Sequence[tuple[float, float]]
) -> float:
    """The noise scale of two batch sizes: pairs of tokens and squared norm, each.

    Sizes vary, so means stand for them: of |G_B|^2 = |G|^2 + tr(Sigma) / B the
    expectation has the mean of 1 / B.
    """
    inverse = [np.mean([1 / tokens for tokens, _ in pairs]) for pairs in (small, big)]
    norms = [np.mean([norm for _, norm in pairs]) for pairs in (small, big)]
    trace = (norms[0] - norms[1]) / (inverse[0] - inverse[1])
    signal = norms[1] - trace * inverse[1]
    return float(trace / signal) if signal > 0 else float("nan")


def between(sums: Tensor, tokens: NDArray[np.float64]) -> float:
    """The noise scale from steps' scatter about their mean.

    Args:
        sums: gradients of the sums of losses, [steps, parameters].
        tokens: of each step.
    """
    count = len(tokens)
    sizes = torch.from_numpy(tokens).to(sums)[:, None]
    mean = sums.sum(0) / sizes.sum()
    # Each step's deviation weighs by its tokens, of which its variance is the inverse.
    trace = float((((sums / sizes - mean) ** 2).sum(1) * sizes[:, 0]).sum()) / (
        count - 1
    )
    signal = float((mean**2).sum()) - trace / float(tokens.sum())
    return trace / signal if signal > 0 else float("nan")


def _in_eights(sums: Tensor, tokens: NDArray[np.float64]) -> float:
    count = len(tokens) // 8 * 8
    joined = sums[:count].view(count // 8, 8, -1).sum(1)
    return between(joined, tokens[:count].reshape(-1, 8).sum(1))


def window_of(steps: Steps, lengths: NDArray[np.int64], begin: float) -> int:
    """The first step that begins behind this part of all tokens."""
    counts = [sum(int(lengths[m].sum()) for m in step) for step in steps]
    behind = np.cumsum(counts) - counts
    return int(np.searchsorted(behind, begin * lengths.sum()))


def noise_of(
    model: Decoder, stream: Stream, arm: Arm, begin: float, steps: int
) -> Noise:
    """The noise scales of an arm's steps.

    Args:
        model: at which gradients are taken; it does not learn.
        stream: of the seed.
        arm: how it is packed.
        begin: the part of all tokens behind which the steps begin, 0 to 1.
        steps: how many, at least 16.

    Raises:
        ValueError: fewer steps, or more than there are.
    """
    packed = stream.steps(arm)
    first = window_of(packed, stream.lengths, begin)
    if steps < 16 or first + steps > len(packed):
        accepted = f"16 to {len(packed) - first}"
        raise ValueError(f"steps: {steps} is not accepted; accepted: {accepted}")
    small, big, sums, tokens = [], [], [], []
    for step in packed[first : first + steps]:
        counts, total = [], None
        for places in step:
            gradient = _gradient(model, stream, places)
            counts.append(float((stream.lengths[places] - 1).sum()))
            small.append((counts[-1], float((gradient**2).sum()) / counts[-1] ** 2))
            total = gradient if total is None else total + gradient
        assert total is not None
        tokens.append(sum(counts))
        big.append((tokens[-1], float((total**2).sum()) / tokens[-1] ** 2))
        sums.append(total)
    stacked, sizes = torch.stack(sums), np.array(tokens)
    return Noise(
        within_steps(small, big), between(stacked, sizes), _in_eights(stacked, sizes)
    )
