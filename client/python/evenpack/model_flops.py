"""Operations that a model needs for a step, for its utilization of the hardware (MFU).

Counted are the multiplications and additions of matrix products, forward and backward
(twice the forward pass: gradients by inputs and by weights). With P parameters in
matrices, l layers, h the width of all query heads together, and documents of d tokens:

    matrices:   6 * P * sum(d)
    attention: 12 * l * h * sum(pairs),  pairs = d * (d + 1) / 2

Attention has two products in the forward pass (queries by keys, weights by values),
each of 2 * h operations for a pair of a query and a key that it sees. Chowdhery et al.,
PaLM (arXiv:2204.02311), appendix B, count d * d pairs, as if no mask were there:
`masked_pairs=True` does so too, to compare with figures of that kind.

Not counted: padding, what is recomputed in the backward pass, softmax, norms and other
element-wise work, look-ups of embeddings. Windows or other masks of the attention are
not known here: the figure is that of full causal attention within each document.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evenpack._native import Step
from evenpack.invalid_argument import check_class, checked_integer, checked_number


@dataclass(frozen=True)
class ModelSize:
    """What decides a model's operations.

    Attributes:
        matrix_parameters: of the matrices that each token is multiplied by: attention's
            projections, MLPs (of a mixture of experts: those that a token is routed
            to), the output layer even if it shares its weights with the embedding; not
            the embedding itself. At least 0.
        attention_layers: layers with full causal attention, at least 0.
        attention_width: query heads * size of a head, at least 0. Where heads of keys
            and of values differ in size: query heads * mean of the two.
    """

    matrix_parameters: int
    attention_layers: int
    attention_width: int

    def __post_init__(self) -> None:
        """Raises InvalidArgumentError: a number is negative, or no integer."""
        for field in ("matrix_parameters", "attention_layers", "attention_width"):
            number = checked_integer(field, getattr(self, field))
            object.__setattr__(self, field, number)


def training_flops(
    model: ModelSize,
    tokens: int,
    sum_squared_lengths: int,
    *,
    masked_pairs: bool = False,
) -> int:
    """Operations of training on documents once, forward and backward.

    Args:
        model: what is trained.
        tokens: of all documents together, without padding.
        sum_squared_lengths: over documents, of their lengths.
        masked_pairs: also count the pairs of a query and a key that the causal mask
            hides.

    Raises:
        InvalidArgumentError: a number is negative or no integer, or a sum of squares
            that these many tokens can't have.
    """
    check_class("model", model, ModelSize, "a ModelSize")
    tokens = checked_integer("tokens", tokens)
    squares = checked_integer(
        "sum_squared_lengths", sum_squared_lengths, tokens, tokens * tokens
    )
    pairs_twice = 2 * squares if masked_pairs else squares + tokens
    attention = 6 * model.attention_layers * model.attention_width * pairs_twice
    return 6 * model.matrix_parameters * tokens + attention


def step_flops(model: ModelSize, step: Step, *, masked_pairs: bool = False) -> int:
    """Operations of a whole step, on all ranks together; as `training_flops`.

    Raises:
        InvalidArgumentError: no Step.
    """
    check_class("step", step, Step, "a Step")
    return training_flops(
        model, step.tokens, step.sum_squared_lengths, masked_pairs=masked_pairs
    )


def utilization(
    flops: int, seconds: float, devices: int, peak_flops_per_second: float
) -> float:
    """MFU: the part of the devices' peak that the operations come to.

    Args:
        flops: as `step_flops` returns them.
        seconds: that the step took.
        devices: of all ranks: DP * CP * TP * PP.
        peak_flops_per_second: of one device, dense, in the precision of the products.

    Raises:
        InvalidArgumentError: operations below 0, or another number that isn't above.
    """
    operations = checked_number("flops", flops)
    peak = math.prod(
        checked_number(field, value, positive=True)
        for field, value in (
            ("seconds", seconds),
            ("devices", devices),
            ("peak_flops_per_second", peak_flops_per_second),
        )
    )
    return operations / peak
