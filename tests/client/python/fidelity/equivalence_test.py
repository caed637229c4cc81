"""Tests of the statistics against values of tables and by hand."""

from __future__ import annotations

from math import inf, pi, sqrt

import pytest
from equivalence import (
    holm,
    incomplete_beta,
    paired,
    pairs_needed,
    t_above,
    t_quantile,
)


def test_the_incomplete_beta_function_is_that_of_its_closed_forms() -> None:
    # I_x(1, b) = 1 - (1 - x)^b; I_x(a, 1) = x^a; I_1/2(a, a) = 1/2.
    assert incomplete_beta(1, 3, 0.2) == pytest.approx(1 - 0.8**3, rel=1e-12)
    assert incomplete_beta(4, 1, 0.9) == pytest.approx(0.9**4, rel=1e-12)
    assert incomplete_beta(7, 7, 0.5) == pytest.approx(0.5, rel=1e-12)
    assert (incomplete_beta(2, 2, 0.0), incomplete_beta(2, 2, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    # Published tables of Student's t, one-sided 5 %.
    [(1, 6.314), (4, 2.132), (9, 1.833), (30, 1.697)],
)
def test_quantiles_are_those_of_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(quantile, abs=5e-4)
    assert t_above(t_quantile(0.95, freedom), freedom) == pytest.approx(0.05)


def test_tails_have_closed_forms_for_one_and_two_degrees_of_freedom() -> None:
    # The Cauchy distribution, and 1/2 - t / (2 sqrt(2 + t^2)).
    assert t_above(1.0, 1) == pytest.approx(0.25)
    assert t_above(sqrt(3), 1) == pytest.approx(0.5 - (pi / 3) / pi)
    assert t_above(-2.0, 2) == pytest.approx(0.5 + 2 / (2 * sqrt(6)))
    assert (t_above(inf, 3), t_above(-inf, 3)) == (0.0, 1.0)


def test_paired_differences_by_hand() -> None:
    # Mean 0.1, deviation sqrt(0.025), error of the mean sqrt(0.005).
    found = paired([-0.1, 0.0, 0.1, 0.2, 0.3], margin=0.5)
    assert found.mean == pytest.approx(0.1)
    assert found.deviation == pytest.approx(sqrt(0.025))
    half = 2.13185 * sqrt(0.005)
    assert (found.low, found.high) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-5)
    assert found.p_equivalent == pytest.approx(t_above(0.4 / sqrt(0.005), 4))
    assert found.p_above == pytest.approx(t_above(0.1 / sqrt(0.005), 4))


def test_equivalence_is_within_the_margin_alone() -> None:
    differences = [0.55, 0.6, 0.5, 0.58, 0.62]
    assert paired(differences, margin=0.5).p_equivalent > 0.5
    assert paired([-d for d in differences], margin=0.5).p_equivalent > 0.5
    assert paired(differences, margin=1.0).p_equivalent < 0.01
    # The interval within the margins says the same as the two tests at 5 %.
    for margin in (0.55, 0.6, 0.61, 0.65):
        found = paired(differences, margin)
        within = -margin < found.low and found.high < margin
        assert within == (found.p_equivalent < 0.05)


def test_differences_that_do_not_scatter_are_where_they_are() -> None:
    assert paired([0.2, 0.2], margin=0.5).p_equivalent == 0.0
    assert paired([0.7, 0.7], margin=0.5).p_equivalent == 1.0


def test_more_scatter_needs_more_pairs() -> None:
    # With two, t is 6.314: 2 * 6.314 / sqrt(2) deviations make the margin.
    assert pairs_needed(0.5 / 8.94, 0.5) == 2
    assert pairs_needed(0.5 / 8.9, 0.5) == 3
    # For many, t nears 1.645: n is (2 * 1.645 * deviation / margin) squared.
    assert pairs_needed(5.0, 0.5) == pytest.approx((2 * 1.645 * 10) ** 2, rel=0.01)


def test_holm_multiplies_from_the_least_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("differences", "margin", "named"),
    [([0.1], 0.5, "differences: 1 "), ([0.1, 0.2], 0.0, "margin: 0.0 ")],
)
def test_what_gives_no_test_is_refused(
    differences: list[float], margin: float, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        paired(differences, margin)
