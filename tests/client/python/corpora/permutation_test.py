"""Tests of evenpack.corpora.permutation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import Permutation
from evenpack.errors import InvalidArgumentError
from example_corpora import numbers, refusal

MOST = (1 << 64) - 1


def _order(n: int, seed: int, epoch: int = 0) -> list[int]:
    order = Permutation(n, seed, epoch).apply(np.arange(n, dtype=np.int64))
    return [int(number) for number in order]


@pytest.mark.parametrize("seed", [0, 1, MOST])
def test_every_number_comes_once(seed: int) -> None:
    sizes = [*range(130), 255, 256, 257, 1023, 4095, 4097, 10_007, 65_537]
    for n in sizes:
        assert sorted(_order(n, seed)) == list(range(n)), n
        assert len(Permutation(n, seed)) == n


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000, 12_345])
def test_a_position_is_found_by_its_number(n: int) -> None:
    order = Permutation(n, 7)
    all_numbers = np.arange(n, dtype=np.int64)
    assert (order.position_of(order.apply(all_numbers)) == all_numbers).all()
    assert (order.apply(order.position_of(all_numbers)) == all_numbers).all()


@pytest.mark.parametrize("n", [(1 << 40) + 12_345, (1 << 62) - 1, 1 << 62])
def test_any_position_of_a_huge_order_is_found_at_once(n: int) -> None:
    order = Permutation(n, 3)
    positions = numbers([0, 1, 2, n // 2, n - 2, n - 1])
    found = order.apply(positions)
    assert len(set(found.tolist())) == len(positions)
    assert found.min() >= 0
    assert found.max() < n
    assert (order.position_of(found) == positions).all()


def test_positions_are_found_alone_as_together() -> None:
    order = Permutation(1000, 5)
    together = order.apply(numbers([999, 3, 3, 500])).tolist()
    alone = [int(order.apply(numbers([i]))[0]) for i in (999, 3, 3, 500)]
    assert together == alone


def test_orders_are_the_same_for_ever() -> None:
    # A change of these is a change of the order in which runs were trained.
    assert _order(10, 0) == [9, 6, 7, 8, 0, 1, 5, 3, 2, 4]
    assert _order(7, 42, 3) == [1, 4, 3, 5, 0, 6, 2]
    huge = Permutation(1 << 50, 123456789).apply(numbers([0, 1, 1 << 49]))
    expected = [744551348278590, 639410870305961, 887084732233903]
    assert huge.tolist() == expected


def test_seeds_and_epochs_give_orders_of_their_own() -> None:
    orders = [tuple(_order(50, seed)) for seed in range(100)]
    orders += [tuple(_order(50, 7, epoch)) for epoch in range(1, 100)]
    assert len(set(orders)) == len(orders)


def test_all_orders_of_a_few_are_drawn() -> None:
    drawn = {tuple(_order(4, seed)) for seed in range(2000)}
    assert len(drawn) == 24


def test_an_order_looks_random() -> None:
    n = 20_000
    order = np.array(_order(n, 11))
    # As many neighbours rise as fall, and they are n / 3 apart in the mean.
    steps = np.array([b - a for a, b in pairwise(order.tolist())])
    assert abs(float((steps > 0).mean()) - 0.5) < 0.01
    assert abs(float(np.abs(steps).mean()) - n / 3) < n / 100
    # A tenth of the order has a tenth of each tenth.
    table = np.histogram2d(np.arange(n), order, bins=10)[0]
    assert abs(table - n / 100).max() < 60


def test_the_first_of_few_is_drawn_evenly() -> None:
    firsts = [_order(6, seed)[0] for seed in range(6000)]
    counts = np.bincount(firsts, minlength=6)
    assert abs(counts - 1000).max() < 150


@pytest.mark.parametrize(
    ("n", "seed", "epoch", "message"),
    [
        (-1, 0, 0, "n: -1 is not accepted; accepted: 0 to 4611686018427387904"),
        ((1 << 62) + 1, 0, 0, "n: 4611686018427387905 is not accepted"),
        (1, -1, 0, "seed: -1 is not accepted; accepted: 0 to 18446744073709551615"),
        (1, MOST + 1, 0, "seed: 18446744073709551616 is not accepted"),
        (1, 0, 1 << 32, "epoch: 4294967296 is not accepted; accepted: 0 to 4294967295"),
    ],
)
def test_what_is_outside_its_range_is_refused(
    n: int, seed: int, epoch: int, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Permutation(n, seed, epoch)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_numbers_of_numpy_are_taken(kind: Callable[[int], Any]) -> None:
    """And no product of theirs overflows."""
    expected = Permutation(50, MOST >> 1, 3).apply(numbers(range(50)))
    found = Permutation(kind(50), kind(MOST >> 1), kind(3)).apply(numbers(range(50)))
    assert found.tolist() == expected.tolist()


def test_what_is_no_number_is_refused() -> None:
    assert refusal(Permutation, 1, None) == (
        "seed: None is not accepted; accepted: an integer, 0 to 18446744073709551615"
    )
    assert refusal(Permutation, 1.5, 0) == (
        "n: 1.5 is not accepted; accepted: an integer, 0 to 4611686018427387904"
    )
