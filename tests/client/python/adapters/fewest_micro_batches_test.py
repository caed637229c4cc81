"""Tests of the bound on how many micro-batches samples need."""

from __future__ import annotations

import numpy as np
import pytest
from evenpack.adapters.fewest_micro_batches import fewest_micro_batches


def _fewest(*lengths: int, most: int | None = None) -> int:
    return fewest_micro_batches(np.array(lengths, dtype=np.uint32), 100, most)


def _packed(lengths: list[int], most: int) -> int:
    """The fewest that there are, by trying all; micro-batches have 100 tokens."""
    best = len(lengths)

    def place(rest: list[int], room: list[list[int]]) -> None:
        nonlocal best
        if len(room) >= best and rest:
            return
        if not rest:
            best = min(best, len(room))
            return
        for used in room:
            if sum(used) + rest[0] <= 100 and len(used) < most:
                used.append(rest[0])
                place(rest[1:], room)
                used.pop()
        place(rest[1:], [*room, [rest[0]]])

    place(sorted(lengths, reverse=True), [])
    return best


def test_no_samples_need_no_micro_batch() -> None:
    assert _fewest() == 0


def test_tokens_bound_it() -> None:
    assert _fewest(*[10] * 20) == 2
    assert _fewest(*[10] * 20, 1) == 3


def test_samples_of_a_micro_batch_bound_it() -> None:
    assert _fewest(*[10] * 20, most=4) == 5
    assert _fewest(*[10] * 21, most=4) == 6


def test_samples_of_more_than_half_are_alone() -> None:
    assert _fewest(*[51] * 7) == 7
    assert _fewest(*[50] * 7) == 4


def test_samples_of_more_than_a_third_are_two_to_a_micro_batch() -> None:
    assert _fewest(*[34] * 9) == 5
    assert _fewest(*[33] * 9) == 3


def test_what_long_samples_leave_no_room_for_is_beside_none() -> None:
    """0.7 and 0.4 of a micro-batch: by tokens 1.1 of them for each pair."""
    assert _fewest(*[70] * 10, *[40] * 10) == 14
    assert _fewest(*[60] * 10, *[40] * 10) == 10


def test_the_longest_samples_and_tokens_have_no_overflow() -> None:
    longest = (1 << 31) - 1
    lengths = np.full(5, longest, dtype=np.uint32)
    assert fewest_micro_batches(lengths, longest, None) == 5


@pytest.mark.parametrize("most", [2, 3, 8])
def test_no_packing_has_fewer(most: int) -> None:
    """Whatever the lengths are; and the bound is met more often than not."""
    random = np.random.default_rng(most)
    met = 0
    for _ in range(200):
        lengths = random.integers(1, random.integers(30, 101), 8).tolist()
        found = _fewest(*lengths, most=most)
        packed = _packed(lengths, most)
        assert found <= packed
        met += found == packed
    assert met > 120
