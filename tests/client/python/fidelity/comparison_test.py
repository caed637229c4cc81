"""Tests of what differences of arms are taken to mean."""

from __future__ import annotations

from typing import Any

import pytest
from comparison import (
    COMPARED_WITH,
    CONTROL,
    adjusted,
    curve_difference,
    difference,
    has_power,
    per_cent,
    training_difference,
    verdict,
)

SCATTER = (-0.1, 0.05, 0.0, 0.1, -0.05)


def _results(rises: dict[str, float]) -> dict[str, Any]:
    """Five seeds, with losses above the baselines' by so many per cent."""
    arms = {}
    for name in {*COMPARED_WITH, *COMPARED_WITH.values()}:
        seeds = []
        for i, scatter in enumerate(SCATTER):
            rise = rises.get(name, 0.0) + (scatter if name in COMPARED_WITH else 0.0)
            loss = (4.0 + i / 10) * (1 + rise / 100)
            seeds.append(
                {
                    "held_out": {"all": loss},
                    "curve": [[0.5, 2 * loss], [1.0, loss]],
                    "training_mean": loss,
                }
            )
        arms[name] = {"seeds": seeds}
    return {"arms": arms}


def test_differences_are_per_cent_pair_by_pair() -> None:
    assert per_cent([2.02, 3.0], [2.0, 4.0]) == pytest.approx([1.0, -25.0])
    results = _results({"wlb_2": 0.3})
    for found in (difference(results, "wlb_2"), training_difference(results, "wlb_2")):
        assert found.mean == pytest.approx(0.3)
        assert found.deviation == pytest.approx(0.0790569)


def test_an_arm_is_equivalent_within_the_margin_alone() -> None:
    results = _results({"wlb_1": 0.2, "wlb_2": 0.5, "wlb_3": -2.0})
    assert verdict(results, "original") == "equivalent"
    assert verdict(results, "wlb_1") == "equivalent; higher"
    assert verdict(results, "wlb_2") == "not shown to be equivalent; higher"
    assert verdict(results, "wlb_3") == "not shown to be equivalent; lower"


def test_p_values_are_adjusted_for_all_that_is_tested() -> None:
    results = _results({"wlb_1": 0.3})
    found = difference(results, "wlb_1").p_equivalent
    assert adjusted(results)["wlb_1"] == pytest.approx(found)
    lower = difference(results, "original").p_equivalent
    assert adjusted(results)["original"] == pytest.approx(5 * lower)


@pytest.mark.parametrize(("rise", "shows"), [(1.6, True), (0.02, False), (-1, False)])
def test_the_study_has_power_where_the_controls_rise_shows(
    rise: float, shows: bool
) -> None:
    results = _results({CONTROL: rise})
    assert has_power(results) == shows
    assert verdict(results, CONTROL) == ("rise shows" if shows else "no rise shows")


def test_differences_along_the_way_are_those_at_each_point() -> None:
    (middle, first), (end, last) = curve_difference(_results({"wlb_3": 1.0}), "wlb_3")
    assert (middle, end) == (0.5, 1.0)
    assert first.mean == pytest.approx(last.mean) == pytest.approx(1.0)
