"""Tests that arms take the same documents, and differ in the order alone."""

from __future__ import annotations

import numpy as np
import pytest
from arms import ARMS, Arm, Shape, Steps, arm_named, displacement, steps_of

SHAPE = Shape(context=64, micro_batches=2, crossover=24)
LENGTHS = np.clip(np.random.default_rng(2).lognormal(2.5, 1.0, 700), 2, 64).astype(int)


def _tokens(steps: Steps) -> list[int]:
    return [sum(int(LENGTHS[m].sum()) for m in step) for step in steps]


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_every_document_comes_exactly_once(arm: Arm) -> None:
    steps = steps_of(arm, SHAPE, LENGTHS)
    came = np.concatenate([m for step in steps for m in step])
    assert sorted(came.tolist()) == list(range(len(LENGTHS)))
    assert all(len(m) > 0 for step in steps for m in step)
    assert sum(_tokens(steps)) == LENGTHS.sum()


def test_what_balances_reorders_and_nothing_else_does() -> None:
    in_order = []
    for arm in ARMS:
        steps = steps_of(arm, SHAPE, LENGTHS)
        firsts = [min(int(m.min()) for m in step) for step in steps]
        lasts = [max(int(m.max()) for m in step) for step in steps]
        if all(a < b for a, b in zip(lasts, firsts[1:], strict=False)):
            in_order.append(arm.name)
    unpacked = ["unpacked", "unpacked_as_original", "unpacked_as_wlb"]
    assert in_order == [*unpacked, "original", "unpacked_sizes_of_wlb"]


def test_a_baseline_has_as_many_steps_as_what_is_compared_with_it() -> None:
    steps = {arm.name: len(steps_of(arm, SHAPE, LENGTHS)) for arm in ARMS}
    assert steps["unpacked_as_original"] == steps["original"]
    assert steps["unpacked_as_wlb"] == steps["wlb_1"]
    assert steps["original"] > steps["unpacked"]
    assert steps["unpacked"] == round(LENGTHS.sum() / SHAPE.batch)


def test_unpacked_steps_are_of_like_size() -> None:
    tokens = _tokens(steps_of(arm_named("unpacked"), SHAPE, LENGTHS))
    assert max(tokens) - min(tokens) <= 2 * SHAPE.context


def test_documents_in_order_can_have_the_step_sizes_of_an_arm() -> None:
    names = ("wlb_3", "unpacked_sizes_of_wlb", "unpacked_as_wlb")
    own, same, even = (
        np.cumsum(_tokens(steps_of(arm_named(name), SHAPE, LENGTHS))) for name in names
    )
    assert np.abs(own - same).max() <= SHAPE.context / 2
    assert np.diff(own).std() > 2 * np.diff(even).std()


def test_wlb_alone_goes_beyond_the_window() -> None:
    longest = {
        arm.name: max(
            int(LENGTHS[m].sum())
            for step in steps_of(arm, SHAPE, LENGTHS)
            for m in step
        )
        for arm in ARMS
        if arm.policy is not None
    }
    beyond = {name for name, tokens in longest.items() if tokens > SHAPE.context}
    assert beyond == {"wlb_1", "wlb_2", "wlb_3"}
    assert max(longest.values()) <= SHAPE.context * 3 // 2


def test_displacement_is_a_quarter_of_a_step_in_order_and_rises_with_disorder() -> None:
    def of(name: str) -> float:
        return displacement(steps_of(arm_named(name), SHAPE, LENGTHS), LENGTHS)

    ones = np.ones(4_000, dtype=np.int64)
    in_order = steps_of(arm_named("unpacked"), SHAPE, ones)
    assert displacement(in_order, ones) == pytest.approx(0.25, abs=0.01)
    assert of("unpacked") < of("fixed_greedy_1") < of("fixed_greedy_8")


def test_an_unknown_arm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"arm: wlb_9 .*accepted: unpacked, "):
        arm_named("wlb_9")
