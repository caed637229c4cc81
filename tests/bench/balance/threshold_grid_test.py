"""Tests of threshold_grid.py, studies.py and packed.py."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from packed import Packed, Packer, Shape
from studies import load, lone_document
from threshold_grid import GRID, Trial, best, best_within, frontier


def trial(name: float, excess: float, delay: float) -> Trial:
    packed = Packed(
        excess=excess,
        excess_all=excess,
        excess_run=excess,
        delay=delay,
        longest_delay=1,
        full_steps=1,
        backlog_steps=0,
        drain_steps=0,
        tokens_cv=0,
        tokens_least=1,
        tokens_most=1,
        long_share=(0, 0, 0, 0),
        forward_seconds=1,
        decide_seconds=1,
        operations=0,
    )
    return Trial((name,), packed)


def excess(packed: Packed) -> float:
    return packed.excess


TRIALS = [
    trial(1, 0.3, 0.1),
    trial(2, 0.1, 0.5),
    trial(3, 0.2, 0.6),
    trial(4, 0.1, 0.4),
]


class ChoiceTest(unittest.TestCase):
    def test_of_equally_even_ones_the_sooner_is_best(self) -> None:
        self.assertEqual(best(TRIALS, excess).setting, (4,))

    def test_best_within_a_delay(self) -> None:
        found = best_within(TRIALS, 0.2, excess)
        self.assertEqual(found.setting if found else None, (1,))
        self.assertIsNone(best_within(TRIALS, 0.05, excess))

    def test_the_frontier_leaves_out_what_another_beats(self) -> None:
        self.assertEqual([t.setting for t in frontier(TRIALS, excess)], [(1,), (4,)])

    def test_the_grid_has_none_one_and_two_thresholds(self) -> None:
        self.assertEqual(len(GRID), 1 + 12 + 66)
        self.assertEqual(len(set(GRID)), len(GRID))
        self.assertTrue(all(list(pair) == sorted(pair) for pair in GRID))


class LoneDocumentTest(unittest.TestCase):
    def test_the_longest_is_as_heavy_as_the_mean(self) -> None:
        found = lone_document([1_000] * 900 + [100_000], 4)
        per_token = load(1_000) / 1_000
        rest = per_token * (4 * 131_072 - found["longest"])
        mean = (rest + load(found["longest"])) / 4
        self.assertAlmostEqual(load(found["longest"]) / mean, 1, delta=1e-4)
        self.assertAlmostEqual(found["share_longer"], 0.1)
        self.assertGreater(found["degree_100k"], 1.5)


class PackerTest(unittest.TestCase):
    def test_reads_the_figures_of_a_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lengths.txt"
            path.write_text("8192\n" * 640)
            packer = Packer(os.environ["EVENPACKCTL"])
            found = packer.pack(Shape(path, 4, 131_072), "balanced")
        self.assertEqual(found.full_steps, 10)
        self.assertEqual((found.excess, found.excess_all, found.delay), (0, 0, 0))
        self.assertEqual(found.excess_run, 0)
        self.assertEqual(found.tokens_most, 4 * 131_072)

    def test_says_why_a_run_fails(self) -> None:
        packer = Packer(os.environ["EVENPACKCTL"])
        with self.assertRaisesRegex(SystemExit, "nowhere"):
            packer.pack(Shape(Path("nowhere"), 4, 131_072), "balanced")


if __name__ == "__main__":
    unittest.main()
