"""Whose turn it is: parts in proportion to their weights, in closed form.

Of two parts with weights l and r, the first has had round(n * l / (l + r)) of the first
n turns. More parts are the leaves of a tree of such pairs, where the turns of a pair
are those of its parent's side. So after every multiple of the weights' sum each part
has had its share exactly, and in between it is off by at most half a turn for each
level of the tree, of which there are log2 of the number of parts, rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import Numbers
from evenpack.invalid_argument import invalid_argument, quoted

# A fraction is exact; a float is taken for the decimal number that it is written as.
Weight = int | float | str | Fraction

# So that no product is above 2^63.
_MOST_WEIGHT = (1 << 31) - 1

Turn = TypeVar("Turn", int, Numbers)


def whole_weights(weights: Sequence[Weight]) -> list[int]:
    """The least whole numbers in the same proportions.

    Args:
        weights: 0 or more each, not all 0: whole numbers, fractions, texts such as
            "0.7" or "1/3", or floats, where 0.1 means a tenth exactly.

    Raises:
        InvalidArgumentError: others, or some whose whole numbers have a sum above
            2^31 - 1.
    """
    exact = [_exact(i, weight) for i, weight in enumerate(weights)]
    scale = lcm(1, *(weight.denominator for weight in exact))
    whole = [int(weight * scale) for weight in exact]
    divisor = gcd(0, *whole)
    if divisor == 0:
        raise invalid_argument("weights", quoted(list(weights)), "at least one above 0")
    whole = [weight // divisor for weight in whole]
    if sum(whole) > _MOST_WEIGHT:
        accepted = f"weights whose whole proportions have a sum up to {_MOST_WEIGHT}"
        raise invalid_argument("weights", quoted(list(weights)), accepted)
    return whole


def _exact(index: int, weight: Weight) -> Fraction:
    try:
        exact = Fraction(str(weight))
    except (ValueError, ZeroDivisionError):
        exact = Fraction(-1)
    if exact < 0:
        raise invalid_argument(
            f"weights[{index}]", quoted(weight), "a number of 0 or more"
        )
    return exact


@dataclass(frozen=True)
class _Pair:
    """Two sides that take turns; a side is a part or another pair."""

    left: _Pair | int
    right: _Pair | int
    left_weight: int
    weight: int

    def left_turns(self, turns: Turn) -> Turn:
        """How many of the first turns are the left side's."""
        rounds, rest = turns // self.weight, turns % self.weight
        share = (2 * rest * self.left_weight + self.weight) // (2 * self.weight)
        return rounds * self.left_weight + share


class Turns:
    """Turns 0, 1, ... of parts with weights. Constant; threads may share one."""

    def __init__(self, weights: Sequence[Weight]) -> None:
        """Takes a weight for each part, as `whole_weights` does.

        Raises:
            InvalidArgumentError: as that.
        """
        self.weights = whole_weights(weights)
        self._root = self._tree([i for i, weight in enumerate(self.weights) if weight])

    def _tree(self, parts: list[int]) -> _Pair | int:
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        left, right = parts[:middle], parts[middle:]
        left_weight = sum(self.weights[part] for part in left)
        weight = left_weight + sum(self.weights[part] for part in right)
        return _Pair(self._tree(left), self._tree(right), left_weight, weight)

    def taken(self, turns: int) -> list[int]:
        """How many of the first `turns` turns each part has; their sum is `turns`."""
        found = [0] * len(self.weights)

        def share(node: _Pair | int, of: int) -> None:
            if isinstance(node, int):
                found[node] = of
                return
            left = node.left_turns(of)
            share(node.left, left)
            share(node.right, of - left)

        share(self._root, turns)
        return found

    def assign(self, turns: Numbers) -> tuple[NDArray[np.int64], Numbers]:
        """Whose turns these are.

        Args:
            turns: int64 [k], 0 or more, in any order.

        Returns:
            Of each turn the part, and which turn of that part it is, from 0: int64 [k].
        """
        parts = np.empty_like(turns)
        positions = np.empty_like(turns)

        def share(node: _Pair | int, which: Numbers, own: Numbers) -> None:
            if isinstance(node, int):
                parts[which] = node
                positions[which] = own
                return
            before = node.left_turns(own)
            is_left = node.left_turns(own + 1) > before
            share(node.left, which[is_left], before[is_left])
            share(node.right, which[~is_left], (own - before)[~is_left])

        share(self._root, np.arange(len(turns)), turns)
        return parts, positions
