"""Runs evenpackctl pack --mode prefill from outside: what it prints and refuses.

The environment's EVENPACKCTL names the program, EVENPACK_SOURCE_DIR the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = str(Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt"))
SHAPE = ("--replicas", "8", "--window", "16384", "--model", "7B")


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The finished program."""
    return subprocess.run(
        [PROGRAM, "pack", "--mode", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def report(*flags: str, lengths: str = LENGTHS, stdin: str = "") -> dict[str, Any]:
    """The JSON report of a run that must succeed without a word on standard error."""
    finished = run("prefill", "--lengths", lengths, *flags, "--json", stdin=stdin)
    if finished.returncode != 0 or finished.stderr:
        raise AssertionError(f"{finished.returncode}: {finished.stderr}")
    parsed: dict[str, Any] = json.loads(finished.stdout)
    return parsed


class PrefillTest(unittest.TestCase):
    def test_compares_disciplines_on_the_same_requests(self) -> None:
        flags = (*SHAPE, "--rate", "550", "--length-scale", "0.125")
        compared = report(*flags, "--requests", "30000")
        self.assertEqual(compared["mode"], "prefill")
        self.assertGreater(compared["offered_load"], 0.5)
        rows = {row["discipline"]: row for row in compared["disciplines"]}
        self.assertEqual(
            list(rows), ["fcfs", "fewest_tokens", "longest_first", "balanced"]
        )
        for row in rows.values():
            self.assertEqual(row["requests"], 30000)
            self.assertEqual(row["tokens"], rows["fcfs"]["tokens"])
        for figure in ("mean", "p99", "max"):
            self.assertLess(
                rows["balanced"]["ttft_seconds"][figure],
                rows["fcfs"]["ttft_seconds"][figure],
            )
        self.assertLess(rows["balanced"]["idle_share"], rows["fcfs"]["idle_share"])

    def test_draws_the_same_requests_for_the_same_seed(self) -> None:
        flags = (
            *(*SHAPE, "--rate", "500", "--length-scale", "0.125"),
            *("--requests", "2000", "--arrivals", "bursty"),
        )
        first = report(*flags, "--seed", "5")
        self.assertEqual(first, report(*flags, "--seed", "5"))
        self.assertNotEqual(first["disciplines"], report(*flags)["disciplines"])

    def test_reads_arrivals(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            times = Path(folder, "times.txt")
            times.write_text("0\n0\n1.5\n")
            flags = (
                *("--arrivals-file", str(times), "--discipline", "fcfs"),
                *("--replicas", "2", "--window", "100"),
                *("--crossover", "1000000", "--ns-per-token", "10000000"),
            )
            read = report(*flags, lengths="-", stdin="40\n20\n30\n")
        (row,) = read["disciplines"]
        self.assertIsNone(read["rate"])
        self.assertEqual(row["batches"], 2)
        self.assertAlmostEqual(row["ttft_seconds"]["max"], 0.4, places=3)
        self.assertAlmostEqual(row["seconds"], 1.8, places=3)

    def test_writes_a_table(self) -> None:
        flags = ("--lengths", "-", "--replicas", "2", "--window", "50", "--rate", "9")
        finished = run("prefill", *flags, "--policy", "wlb", stdin="5\n6\n")
        self.assertEqual(finished.returncode, 0)
        self.assertIn("2 requests of 11 tokens, poisson, 9 a second", finished.stdout)
        self.assertIn("balanced", finished.stdout)
        self.assertIn("no effect", finished.stderr)
        self.assertIn("--policy", finished.stderr)

    def test_names_what_it_refuses(self) -> None:
        shape = ("--replicas", "2", "--window", "50")
        for words, flags in (
            ("--mode: 'serving'", ("serving", "--policy", "wlb")),
            ("--rate is missing", ("prefill", *shape)),
            ("--replicas is missing", ("prefill", "--window", "50", "--rate", "1")),
            ("prompt 2: 60 tokens", ("prefill", *shape, "--rate", "1")),
            ("--length-scale", ("prefill", *shape, "--rate", "1")),
        ):
            finished = run(*flags, "--lengths", "-", stdin="5\n60\n")
            self.assertEqual(finished.returncode, 2, finished.stderr)
            self.assertIn(words, finished.stderr)
            self.assertEqual(finished.stdout, "")
        finished = run(
            *("prefill", *shape, "--rate", "1", "--lengths", "-"), stdin="2791999\n"
        )
        self.assertIn("prompt 1: 2791999 tokens", finished.stderr)

    def test_training_says_which_of_its_flags_it_does_not_use(self) -> None:
        flags = ("--policy", "wlb", "--micro-batches", "2", "--window", "50")
        finished = run("training", *flags, "--lengths", "-", "--rate", "5", stdin="9\n")
        self.assertEqual(finished.returncode, 0)
        self.assertIn("--rate", finished.stderr)


if __name__ == "__main__":
    unittest.main()
