"""Tests of length_families.py."""

from __future__ import annotations

import unittest

from length_families import (
    CONTEXT_SIZES,
    FAMILIES,
    TOKENS,
    WINDOW,
    SplitMix64,
    bimodal,
    cut_at_sizes,
    lognormal,
    pareto,
)


class SplitMix64Test(unittest.TestCase):
    def test_draws_the_published_sequence(self) -> None:
        # Of Vigna's splitmix64.c with x = 1234567.
        random = SplitMix64(1234567)
        self.assertEqual(
            [random.next() for _ in range(3)],
            [6457827717110365317, 3203168211198807973, 9817491932198370423],
        )

    def test_uniform_is_above_0_and_at_most_1(self) -> None:
        random = SplitMix64(3)
        drawn = [random.uniform() for _ in range(1000)]
        self.assertTrue(all(0 < value <= 1 for value in drawn))
        self.assertAlmostEqual(sum(drawn) / 1000, 0.5, delta=0.05)


class FamiliesTest(unittest.TestCase):
    def test_lengths_fit_the_window(self) -> None:
        random = SplitMix64(5)
        for draw in (lognormal(40_000, 2), pareto(500, 0.3), bimodal):
            drawn = [draw(random) for _ in range(500)]
            self.assertGreaterEqual(min(drawn), 1)
            self.assertLessEqual(max(drawn), WINDOW)

    def test_half_of_a_lognormal_is_below_its_median(self) -> None:
        random, draw = SplitMix64(5), lognormal(3_000, 1)
        below = sum(draw(random) <= 3_000 for _ in range(2000))
        self.assertAlmostEqual(below / 2000, 0.5, delta=0.04)

    def test_a_pareto_tail_falls_as_its_exponent_says(self) -> None:
        random, draw = SplitMix64(5), pareto(1_000, 2)
        above = sum(draw(random) > 2_000 for _ in range(2000))
        self.assertAlmostEqual(above / 2000, 0.25, delta=0.04)

    def test_a_tenth_of_what_is_cut_at_sizes_has_them_exactly(self) -> None:
        random = SplitMix64(5)
        drawn = [cut_at_sizes(random) for _ in range(5000)]
        self.assertAlmostEqual(
            sum(length in CONTEXT_SIZES for length in drawn) / 5000, 0.1, delta=0.02
        )
        for size in CONTEXT_SIZES:
            self.assertAlmostEqual(drawn.count(size) / 5000, 0.02, delta=0.01)
        others = [length for length in drawn if length not in CONTEXT_SIZES]
        self.assertAlmostEqual(sum(others) / len(others), 3_000, delta=150)

    def test_a_constant_stream_holds_the_tokens_once(self) -> None:
        constant = next(family for family in FAMILIES if family.name == "constant")
        lengths = constant.lengths()
        self.assertEqual(set(lengths), {8_192})
        self.assertLess(sum(lengths) - TOKENS, 8_192)
        self.assertGreaterEqual(sum(lengths), TOKENS)


if __name__ == "__main__":
    unittest.main()
