"""Runs evenpackctl simulate and assess from outside: what they print and refuse.

The environment's EVENPACKCTL names the program, EVENPACK_SOURCE_DIR the repository.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = str(Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt"))

FIGURES = """
    step_seconds bound_seconds bound_share bubble exposed_communication excess
    pp_imbalance cp_imbalance gpu_imbalance gpu_attention_imbalance
    longest_micro_batch in_flight_tokens plan_bytes
""".split()
PAPER_ROW = """
    name plain_seconds fixed_speedup wlb_speedup hybrid_speedup bound_speedup
    published_fixed published_wlb
""".split()
CONFIG = """
# 128 GPUs
model: {name: 7B}
job:
  window: 65536
  policy: {wlb: {}}
  parallelism: {data: 4, micro_batches_per_rank: 8, tensor: 4, context: 2, pipeline: 4}
virtual_stages: 2
sync_domain: SYNC_DOMAIN_MICRO_BATCH
"""


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The finished program."""
    return subprocess.run(
        [PROGRAM, *arguments], input=stdin, capture_output=True, text=True, check=False
    )


def report(*arguments: str) -> dict[str, Any]:
    """The JSON report of a run that must succeed without a word on standard error."""
    finished = run(*arguments, "--lengths", LENGTHS, "--json")
    if finished.returncode != 0 or finished.stderr:
        raise AssertionError(f"{finished.returncode}: {finished.stderr}")
    parsed: dict[str, Any] = json.loads(finished.stdout)
    return parsed


class SimulateTest(unittest.TestCase):
    def test_reports_one_configuration(self) -> None:
        simulated = report("simulate", "--config", "7B-128K", "--steps", "40")
        for key in [*FIGURES, "speedup", "bound_speedup", "plain_step_seconds"]:
            self.assertIn(key, simulated)
        self.assertEqual(simulated["gpus"], 64)
        self.assertGreater(simulated["speedup"], 1.15)
        self.assertGreater(simulated["bound_speedup"], simulated["speedup"])
        parts = sum(simulated["excess"].values())
        self.assertAlmostEqual(
            simulated["step_seconds"], simulated["bound_seconds"] + parts, places=6
        )

    def test_plain_packing_is_as_fast_as_itself(self) -> None:
        simulated = report(
            *("simulate", "--config", "7B-128K", "--steps", "20"),
            *("--policy", "original", "--sharding", "per_sequence"),
        )
        self.assertEqual(simulated["speedup"], 1)

    def test_placing_shortens_steps_and_leaves_plain_packing_as_it_is(self) -> None:
        flags = ("simulate", "--config", "550M-64K", "--steps", "40")
        given = report(*flags)
        self.assertEqual(
            given,
            report(*flags, "--placement", "given")
            | {"decide_seconds": given["decide_seconds"], "plain": given["plain"]},
        )
        least = report(*flags, "--placement", "least")
        self.assertEqual(given["placement"], "given")
        self.assertEqual(least["placement"], "least")
        self.assertLess(least["step_seconds"], given["step_seconds"])
        self.assertEqual(least["plain_step_seconds"], given["plain_step_seconds"])

    def test_says_where_documents_longer_than_the_window_are_left_out(self) -> None:
        command = [
            *("simulate", "--config", "7B-128K", "--lengths", "-", "--policy", "wlb"),
        ]
        refused = run(*command, stdin="131073\n" * 20)
        self.assertEqual(refused.returncode, 2)
        self.assertIn(
            "the documents of at most 131072 tokens do not come to 524288 tokens, one "
            "step; longer ones, which are left out: 20 (--over-window cut has them)",
            refused.stderr,
        )
        cut = run(*command, "--over-window", "cut", stdin="131073\n" * 20)
        self.assertEqual(cut.returncode, 0)

    def test_wrong_costs_do_not_help(self) -> None:
        right = report("simulate", "--config", "550M-128K", "--steps", "60")
        wrong = report(
            *("simulate", "--config", "550M-128K", "--steps", "60"),
            "--crossover-error=30",
        )
        self.assertEqual(wrong["crossover_error"], 30)
        self.assertGreater(wrong["step_seconds"], right["step_seconds"])

    def test_scales_to_the_largest_configurations(self) -> None:
        simulated = report("simulate", "--config", "405B-128K", "--steps", "6")
        self.assertEqual(simulated["gpus"], 8192)
        self.assertGreater(simulated["plain"]["gpu_imbalance"], 1.05)
        self.assertLess(simulated["gpu_imbalance"], 1.05)

    def test_tells_by_what_rule_it_shards_hybrid(self) -> None:
        flags = ("simulate", "--config", "7B-128K", "--steps", "4")
        self.assertNotIn("hybrid", report(*flags))
        rule = report(*flags, "--sharding", "hybrid")["hybrid"]
        self.assertEqual(rule["token_tolerance_ppm"], 20000)
        self.assertGreater(rule["token_ps"], 0)
        self.assertGreater(rule["cut_token_ps"], 0)
        finished = run(*flags, "--sharding", "hybrid", "--lengths", LENGTHS)
        self.assertRegex(
            finished.stdout,
            rf"hybrid rule +{rule['token_ps']} ps a token, {rule['cut_token_ps']} ps a "
            r"cut one, within 20000 ppm\n",
        )

    def test_keeps_no_more_tokens_in_flight_than_it_is_told(self) -> None:
        flags = ("simulate", "--config", "7B-128K", "--policy", "balanced")
        bounded = report(*flags, "--steps", "10", "--max-in-flight", "200000")
        self.assertLessEqual(bounded["in_flight_tokens"], 200000)

    def test_notes_flags_without_effect(self) -> None:
        flags = ("--lengths", LENGTHS, "--steps", "2", "--token-cv", "0.1")
        for config in ("7B-128K", "paper"):
            finished = run(*("simulate", "--config", config, "--policy", "wlb", *flags))
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual(
                finished.stderr, "evenpackctl: note: --token-cv has no effect here\n"
            )

    def test_reports_the_papers_tables(self) -> None:
        paper = report("simulate", "--config", "paper", "--steps", "20")
        self.assertEqual(len(paper["configs"]), 8)
        for row in paper["configs"]:
            for key in PAPER_ROW:
                self.assertIn(key, row)
        for key in ("mean_fixed", "mean_wlb", "mean_bound"):
            self.assertGreater(paper[key], 1)
        self.assertEqual(paper["published_mean_wlb"], 1.23)
        for table in ("window-sweep", "breakdown", "packing-table", "cp-figure"):
            rows = report("simulate", "--config", table, "--steps", "10")["configs"]
            self.assertGreaterEqual(len(rows), 5, table)
            published = "published_wlb" if table == "window-sweep" else "published"
            for row in rows:
                self.assertIn("name", row)
                self.assertIn(published, row)

    def test_text_has_the_figures_too(self) -> None:
        for config in ("7B-128K", "paper", "breakdown", "packing-table"):
            finished = run(
                "simulate", "--config", config, "--lengths", LENGTHS, "--steps", "10"
            )
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertGreater(len(finished.stdout.splitlines()), 5)

    def test_simulates_contiguous_shards(self) -> None:
        """The last rank has most of a long document's attention."""
        command = ("simulate", "--config", "7B-128K", "--policy", "original")
        flags = ("--lengths", "-", "--steps", "4", "--json", "--sharding")
        seconds = {}
        for sharding in ("per_sequence", "contiguous"):
            finished = run(*command, *flags, sharding, stdin="131072\n" * 40)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            seconds[sharding] = json.loads(finished.stdout)["step_seconds"]
        self.assertGreater(seconds["contiguous"], 1.2 * seconds["per_sequence"])

    def test_assess_lists_no_table_of_the_paper(self) -> None:
        for command, listed in (("assess", "550M-64K"), ("simulate", "paper")):
            refused = run(command, "--config", "none", "--lengths", LENGTHS)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"'none' is not accepted; accepted: {listed}", refused.stderr)

    def test_refuses_what_it_does_not_know(self) -> None:
        balanced = ("--config", "7B-128K", "--policy", "balanced")
        for arguments, said in (
            (["--config", "8B"], "--config: '8B'"),
            ([], "--config"),
            (["--config", "7B-128K", "--policy", "best"], "--policy: 'best'"),
            (["--config", "7B-128K", "--virtual-stages", "64"], "pipeline_parallel"),
            (
                [*balanced, "--max-in-flight", "100"],
                "--max-in-flight: 100",
            ),
            (
                [*balanced, "--release", "class", "--token-cv", "0.1"],
                "--token-cv: 100000 ppm",
            ),
        ):
            finished = run("simulate", *arguments, "--lengths", LENGTHS)
            self.assertEqual(finished.returncode, 2, arguments)
            self.assertIn(said, finished.stderr)
            self.assertRegex(finished.stderr, r"\Aevenpackctl: [^\n]+\n\Z")

    def test_says_that_documents_are_too_few(self) -> None:
        finished = run(
            "simulate", "--config", "7B-128K", "--lengths", "-", stdin="100\n"
        )
        self.assertEqual(finished.returncode, 2)
        self.assertIn("524288 tokens", finished.stderr)


class AssessTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.config = str(Path(directory.name, "run.yaml"))
        Path(self.config).write_text(CONFIG)

    def test_compares_the_methods_on_a_users_cluster(self) -> None:
        assessed = report("assess", "--config", self.config, "--steps", "20")
        self.assertEqual(assessed["gpus"], 128)
        self.assertEqual(assessed["sync_domain"], "micro_batch")
        self.assertGreater(assessed["corpus"]["documents_over_window"], 0)
        # The configuration asks for wlb under per_document, which is one of them.
        self.assertEqual(len(assessed["methods"]), 8)
        rules = [row["hybrid"] for row in assessed["methods"] if "hybrid" in row]
        self.assertEqual(len(rules), 2)
        self.assertGreater(rules[0]["token_ps"], 0)
        for method in assessed["methods"]:
            for key in [*FIGURES, "speedup", "gpu_hours_per_trillion_tokens"]:
                self.assertIn(key, method)
        best = max(assessed["methods"], key=lambda method: method["speedup"])
        self.assertEqual(assessed["best"], best["name"])
        self.assertEqual(assessed["speedup"], best["speedup"])
        self.assertEqual(len(assessed["wrong_costs"]), 4)

    def test_says_how_each_methods_micro_batches_are_placed(self) -> None:
        unplaced = "{balanced: {place: false}}\n  sharding: SHARDING_HYBRID"
        Path(self.config).write_text(CONFIG.replace("{wlb: {}}", unplaced))
        assessed = report("assess", "--config", self.config, "--steps", "5")
        placed = {row["name"]: row["placement"] for row in assessed["methods"]}
        self.assertEqual(placed["wlb, hybrid"], "given")
        self.assertEqual(placed["balanced, hybrid"], "least")
        # That is all in which it differs from the one above.
        self.assertEqual(placed["balanced, hybrid, as configured"], "given")

    def test_fits_on_a_page(self) -> None:
        finished = run(
            *("assess", "--config", self.config, "--lengths", LENGTHS),
            *("--steps", "10"),
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines = finished.stdout.splitlines()
        self.assertLess(len(lines), 40)
        self.assertIn("Best is", finished.stdout)

    def test_reads_an_indexed_dataset(self) -> None:
        prefix = Path(self.config).with_name("corpus")
        lengths = [2000 + 37 * i for i in range(3000)]
        pointers = itertools.accumulate([0, *(2 * length for length in lengths[:-1])])
        prefix.with_suffix(".idx").write_bytes(
            struct.pack(
                f"<9sQBQQ{len(lengths)}i{len(lengths)}q{len(lengths) + 1}q",
                b"MMIDIDX\0\0", 1, 8, len(lengths), len(lengths) + 1,
                *lengths, *pointers, *range(len(lengths) + 1),
            )
        )  # fmt: skip
        finished = run(
            *("assess", "--config", self.config, "--idx", str(prefix), "--json")
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        corpus = json.loads(finished.stdout)["corpus"]
        self.assertEqual(corpus["documents"], len(lengths))
        self.assertEqual(corpus["tokens"], sum(lengths))

    def test_names_the_field_of_a_bad_file(self) -> None:
        Path(self.config).write_text("job: {window: 65536, parallelism: {data: -1}}\n")
        finished = run("assess", "--config", self.config, "--lengths", LENGTHS)
        self.assertEqual(finished.returncode, 2)
        self.assertIn("data", finished.stderr)


if __name__ == "__main__":
    unittest.main()
