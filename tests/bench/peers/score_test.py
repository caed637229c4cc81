"""Tests of score.py by hand-computed tables."""

from __future__ import annotations

import unittest

from packer import Shape
from score import check_documents, imbalance_of, score, steps_of, workload

# Lengths whose workloads are round: W(47,000) = 94,000, W(94,000) = 282,000 and
# W(23,500) = 35,250.
SHORT, LONG, LONGER = 23_500, 47_000, 94_000
SHAPE = Shape(micro_batches=2, window=94_000, max_length=100_000)


class ScoreTest(unittest.TestCase):
    def test_workload_is_quadratic_and_linear(self) -> None:
        for lengths, expected in (
            ([], 0),
            ([LONG], 94_000),
            ([LONGER], 282_000),
            ([SHORT, SHORT, LONG], 164_500),
        ):
            self.assertAlmostEqual(workload(lengths), expected)

    def test_imbalance_is_the_mean_of_ratios_and_the_ratio_of_sums(self) -> None:
        # Max / mean: 3/2, 10/10, 8/6; sums 3 + 10 + 8 over 2 + 10 + 6.
        mean, weighted = imbalance_of([[3, 1], [10, 10], [4, 8]]) or (0, 0)
        self.assertAlmostEqual(mean, (1.5 + 1 + 4 / 3) / 3)
        self.assertAlmostEqual(weighted, 21 / 18)

    def test_last_step_counts_only_if_it_is_full(self) -> None:
        self.assertEqual(steps_of([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4]])
        self.assertEqual(steps_of([1], 2), [])

    def test_one_call(self) -> None:
        lengths = [LONGER, LONG, SHORT, SHORT]
        result = score([(lengths, [[0], [1, 2, 3]])], SHAPE)
        # Workloads 282,000 and 164,500; tokens 94,000 each.
        self.assertEqual((result.steps, result.micro_batches), (1, 2))
        self.assertAlmostEqual(result.imbalance or 0, 282_000 / 223_250)
        self.assertAlmostEqual(result.weighted or 0, 282_000 / 223_250)
        self.assertEqual((result.over, result.fill, result.dropped), (0, 1, 0))

    def test_tokens_over_the_cap_are_those_beyond_it(self) -> None:
        lengths = [LONGER, LONG, SHORT, SHORT]
        result = score([(lengths, [[0, 2], [1, 3]])], SHAPE)
        self.assertAlmostEqual(result.over, 17_500 / 188_000)

    def test_micro_batches_that_make_no_step_count_in_fill(self) -> None:
        result = score([([LONG, LONG, LONG], [[0], [1], [2]])], SHAPE)
        self.assertEqual((result.steps, result.micro_batches), (1, 3))
        self.assertEqual((result.imbalance, result.fill), (1, 0.5))

    def test_without_a_step_there_is_no_imbalance(self) -> None:
        result = score([([LONG], [[0]])], SHAPE)
        self.assertEqual(result.steps, 0)
        self.assertIsNone(result.imbalance)
        self.assertIsNone(result.weighted)

    def test_first_steps_of_many_are_left_out(self) -> None:
        uneven = ([LONGER, LONG], [[0], [1]])
        even = ([LONG, LONG], [[0], [1]])
        for before, after, expected in (
            (50, 51, 1.0),
            (51, 50, (1.5 + 50) / 51),
            (50, 50, (50 * 1.5 + 50) / 100),
        ):
            result = score([uneven] * before + [even] * after, SHAPE)
            self.assertAlmostEqual(result.imbalance or 0, expected)

    def test_documents_are_counted(self) -> None:
        self.assertEqual(check_documents([[0, 2], [1]], 3), 0)
        self.assertEqual(check_documents([[2], []], 4), 3)

    def test_document_that_is_twice_or_unknown_is_an_error(self) -> None:
        for packed in ([[0, 0]], [[0], [0]], [[2]], [[-1]]):
            with self.assertRaisesRegex(ValueError, "document"):
                check_documents(packed, 2)


if __name__ == "__main__":
    unittest.main()
