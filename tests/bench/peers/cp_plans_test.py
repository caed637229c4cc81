"""Tests of cp_plans.py and of how planners are measured, with one of our own."""

from __future__ import annotations

import unittest
from collections.abc import Sequence

from cp_plans import Planner, even_micro_batches, pairs_by_rank, score_pairs
from measure_planner import measure


def contiguous(lengths: Sequence[int], _: int) -> list[int]:
    return list(range(sum(lengths)))


class CpPlansTest(unittest.TestCase):
    def test_micro_batches_are_full_of_even_documents(self) -> None:
        for lengths, count, expected in (
            ([64, 64], 1, [[64, 64]]),
            ([1, 33, 200], 3, [[32, 64, 32], [128]]),
            ([300, 300], 2, [[128], [128]]),
            ([64], 1, []),
        ):
            self.assertEqual(even_micro_batches(lengths, 128, count), expected)

    def test_token_attends_to_its_document_up_to_itself(self) -> None:
        # Pairs of the tokens: 1 2 3 4 | 1 2.
        for order, ranks, expected in (
            ([0, 1, 2, 3, 4, 5], 2, [6, 7]),
            ([0, 3, 4, 1, 2, 5], 2, [6, 7]),
            ([0, 3, 1, 2, 4, 5], 3, [5, 5, 3]),
        ):
            self.assertEqual(pairs_by_rank([4, 2], order, ranks), expected)

    def test_order_must_have_every_token_once_and_divide(self) -> None:
        for order, ranks in (([0, 1, 2], 2), ([0, 1, 1, 3], 2), ([0, 1, 2, 3], 3)):
            with self.assertRaisesRegex(ValueError, "not an order of 4 tokens"):
                pairs_by_rank([4], order, ranks)

    def test_score_is_mean_and_worst_of_max_over_mean(self) -> None:
        score = score_pairs([[1, 3], [2, 2]], 7.0)
        self.assertEqual((score.imbalance, score.worst, score.ms), (1.25, 1.5, 7.0))

    def test_planner_is_measured(self) -> None:
        planner = Planner("cut", list, contiguous, list, "note")
        row = measure(planner, [[4, 2], [1] * 6], 2)
        self.assertEqual((row["name"], row["cp"], row["note"]), ("cut", 2, "note"))
        self.assertEqual((row["imbalance"], row["worst"]), ((14 / 13 + 1) / 2, 14 / 13))


if __name__ == "__main__":
    unittest.main()
