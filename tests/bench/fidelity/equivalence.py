"""Tests on differences that are paired by seed: Student's t, and equivalence by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p, sqrt

import numpy as np

_TINY = 1e-300


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1.0), _TINY)
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for numerator in (even, odd):
            d = 1.0 / ((1.0 + numerator * d) or _TINY)
            c = (1.0 + numerator / c) or _TINY
            value *= c * d
        if abs(value - before) < 1e-15 * abs(value):
            break
    return value


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), a and b above 0."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return scale * _continued_fraction(a, b, x) / a
    return 1.0 - scale * _continued_fraction(b, a, 1.0 - x) / b


def t_above(t: float, freedom: int) -> float:
    """The probability that Student's t of so many degrees of freedom is above t."""
    if t in (inf, -inf):
        return 0.0 if t > 0 else 1.0
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return tail if t >= 0 else 1.0 - tail


def t_quantile(probability: float, freedom: int) -> float:
    """The t that is exceeded with 1 - probability; probability 0.5 to below 1."""
    low, high = 0.0, 1.0
    while t_above(high, freedom) > 1.0 - probability:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2
        above = t_above(middle, freedom) > 1.0 - probability
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Paired:
    """What differences, one a seed, come to.

    Attributes:
        mean: of the differences.
        deviation: their standard deviation, n - 1 in the divisor.
        low, high: the 90 % interval of the mean, within which the margins must enclose
            it for equivalence at 5 %.
        p_equivalent: of the two one-sided tests: small where the mean is within the
            margin.
        p_above: of the one-sided test that the mean is above 0.
    """

    mean: float
    deviation: float
    low: float
    high: float
    p_equivalent: float
    p_above: float


def paired(differences: Sequence[float], margin: float) -> Paired:
    """Both tests of differences against a margin.

    Args:
        differences: one for each seed, two or more.
        margin: above 0, in their unit: equivalent means within -margin to margin.

    Raises:
        ValueError: too few differences, or no margin.
    """
    n = len(differences)
    if n < 2:
        raise ValueError(f"differences: {n} is not accepted; accepted: at least 2")
    if not margin > 0:
        raise ValueError(f"margin: {margin} is not accepted; accepted: above 0")
    mean, deviation = float(np.mean(differences)), float(np.std(differences, ddof=1))
    error = deviation / sqrt(n)

    def above(bound: float) -> float:
        distance = mean - bound
        if error > 0:
            return t_above(distance / error, n - 1)
        return 0.0 if distance > 0 else 1.0

    half = t_quantile(0.95, n - 1) * error
    return Paired(
        mean,
        deviation,
        mean - half,
        mean + half,
        max(above(-margin), 1.0 - above(margin)),
        above(0.0),
    )


def pairs_needed(deviation: float, margin: float) -> int:
    """Differences with which equivalence would show nine times in ten, were there none.

    Each of the two one-sided tests at 5 % then fails one time in twenty: the margin is
    twice the 95 % quantile times the error of the mean.

    Args:
        deviation: of the differences, their unit.
        margin: above 0, in the same.
    """
    count = 2
    while 2 * t_quantile(0.95, count - 1) * deviation / sqrt(count) > margin:
        count += 1
    return count


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted by Holm's method, in the order given."""
    count, largest = len(p_values), 0.0
    adjusted = [0.0] * count
    for rank, i in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (count - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
