"""Tests of evenpack.corpora.turns."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil, log2

import numpy as np
import pytest
from evenpack.corpora.turns import Turns, Weight, whole_weights
from evenpack.errors import InvalidArgumentError
from example_corpora import numbers


@pytest.mark.parametrize(
    ("weights", "whole"),
    [
        ([1], [1]),
        ([5], [1]),
        ([2, 4], [1, 2]),
        ([0, 3], [0, 1]),
        ([0.7, 0.2, 0.1], [7, 2, 1]),
        (["0.25", 0.75], [1, 3]),
        (["1/3", Fraction(2, 3)], [1, 2]),
        ([1e-3, 1], [1, 1000]),
        ([np.float64(0.5), np.int64(1)], [1, 2]),
        ([1 << 40, 1 << 40], [1, 1]),
        ([(1 << 31) - 2, 1], [(1 << 31) - 2, 1]),
    ],
)
def test_weights_become_the_least_whole_numbers(
    weights: list[Weight], whole: list[int]
) -> None:
    assert whole_weights(weights) == whole
    assert Turns(weights).weights == whole


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], r"weights\[1\]: -1 is not accepted; accepted: a number of 0 or more"),
        ([float("nan")], r"weights\[0\]: nan is not accepted"),
        ([float("inf")], r"weights\[0\]: inf is not accepted"),
        (["x"], r"weights\[0\]: 'x' is not accepted"),
        (["1/0"], r"weights\[0\]: '1/0' is not accepted"),
        ([0, 0.0], r"weights: \[0, 0.0\] is not accepted; accepted: at least one"),
        ([], r"weights: \[\] is not accepted; accepted: at least one above 0"),
        (
            [(1 << 31) - 1, 1],
            r"weights: \[2147483647, 1\] is not accepted; accepted: weights whose "
            "whole proportions have a sum up to 2147483647",
        ),
    ],
)
def test_other_weights_are_refused(weights: list[Weight], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Turns(weights)


def _random_weights(seed: int) -> list[int]:
    draw = random.Random(seed)
    weights = [draw.choice([0, 1, 2, 7, 40]) for _ in range(draw.randrange(1, 9))]
    return weights if any(weights) else [1]


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_exact_after_every_round_and_close_in_between(seed: int) -> None:
    turns = Turns(_random_weights(seed))
    weights, total = turns.weights, sum(turns.weights)
    parts, _ = turns.assign(np.arange(3 * total, dtype=np.int64))
    levels = ceil(log2(sum(1 for weight in weights if weight)))
    taken = [0] * len(weights)
    for i, part in enumerate(parts.tolist()):
        taken[part] += 1
        for had, weight in zip(taken, weights, strict=True):
            assert abs(had - Fraction((i + 1) * weight, total)) <= Fraction(levels, 2)
        if (i + 1) % total == 0:
            rounds = (i + 1) // total
            assert taken == [rounds * weight for weight in weights]


@pytest.mark.parametrize("seed", range(40))
def test_counts_and_turns_agree(seed: int) -> None:
    turns = Turns(_random_weights(seed))
    taken = [0] * len(turns.weights)
    parts, positions = turns.assign(np.arange(200, dtype=np.int64))
    for i, (part, position) in enumerate(
        zip(parts.tolist(), positions.tolist(), strict=True)
    ):
        assert turns.taken(i) == taken
        assert position == taken[part]
        taken[part] += 1
    assert turns.taken(200) == taken


def test_turns_are_found_in_any_order() -> None:
    turns = Turns([3, 2, 1])
    parts, positions = turns.assign(np.arange(12, dtype=np.int64))
    wanted = numbers([11, 0, 5, 5])
    some_parts, some_positions = turns.assign(wanted)
    assert (some_parts == parts[wanted]).all()
    assert (some_positions == positions[wanted]).all()


def test_turns_are_the_same_for_ever() -> None:
    # A change of these is a change of the documents that runs were trained on.
    parts, _ = Turns([5, 3, 2]).assign(np.arange(10, dtype=np.int64))
    assert parts.tolist() == [0, 1, 0, 2, 0, 1, 0, 2, 0, 1]


def test_far_turns_of_heavy_weights_are_exact() -> None:
    weights = [(1 << 31) - 2, 1]
    turns = Turns(weights)
    far = (1 << 29) * sum(weights)
    assert turns.taken(far) == [(1 << 29) * weight for weight in weights]
    parts, positions = turns.assign(numbers([far, far + (1 << 30) - 1]))
    assert parts.tolist() == [0, 1]
    assert positions.tolist() == [(1 << 29) * weights[0], 1 << 29]
