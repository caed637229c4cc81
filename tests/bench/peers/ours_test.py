"""Tests of ours.py with evenpackctl itself, which EVENPACKCTL names."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import ours
from packer import Shape
from score import imbalance_of, workload

PROGRAM = Path(os.environ["EVENPACKCTL"])
SHAPE = Shape(micro_batches=2, window=1000, max_length=1500)


class OursTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.lengths = Path(directory.name) / "lengths"
        # Three global batches, each of which is packed as 900 + 100 and 700 + 300.
        self.lengths.write_text("900\n700\n100\n300\n" * 3, encoding="utf-8")

    def test_policies_have_the_figures_of_a_peer(self) -> None:
        rows = {
            row["name"]: row
            for row in ours.policies(PROGRAM, self.lengths, SHAPE, steps=3)
        }
        self.assertEqual(len(rows), 7)
        row = rows["evenpack, wlb (no queues)"]
        self.assertEqual((row["steps"], row["micro_batches"]), (3, 6))
        self.assertEqual((row["dropped"], row["over"], row["fill"]), (0, 0, 1))
        self.assertGreater(row["ms"], 0)
        self.assertEqual(row["optimises"], "workload")
        # Three batches don't fill a window of eight.
        row = rows["evenpack, fixed_greedy (8 batches)"]
        self.assertEqual((row["steps"], row["imbalance"], row["fill"]), (0, None, None))

    def test_imbalance_is_what_the_scorer_says_of_the_same_micro_batches(self) -> None:
        row = ours.without_delay(PROGRAM, self.lengths, SHAPE, steps=3)
        loads = [workload([900, 100]), workload([700, 300])]
        mean, weighted = imbalance_of([loads] * 3) or (0, 0)
        # The command line's workloads are whole nanoseconds.
        self.assertAlmostEqual(row["imbalance"], mean, places=4)
        self.assertAlmostEqual(row["weighted"], weighted, places=4)

    def test_micro_batch_that_is_too_long_is_an_error(self) -> None:
        figures: dict[str, Any] = {
            "policy": "wlb",
            "steps": 1,
            "longest_micro_batch": 1501,
        }
        with self.assertRaisesRegex(ValueError, "wlb: 1501 tokens"):
            ours.row_of_policy(figures, SHAPE)

    def test_plans_of_even_documents_are_even(self) -> None:
        # 64 tokens have 2,080 pairs, and so has the first half of 128, of 8,256.
        uneven = 2 * 8256 / (8256 + 4160)
        for sharding, worst in (("per_document", 1.0), ("per_sequence", uneven)):
            score = ours.shard(PROGRAM, [[64, 64, 128], [64] * 4], 2, sharding)
            self.assertAlmostEqual(score.worst, worst)
            self.assertAlmostEqual(score.imbalance, (worst + 1) / 2)
            self.assertGreater(score.ms, 0)


if __name__ == "__main__":
    unittest.main()
