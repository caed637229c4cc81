"""Runs evenpackctl from outside: exit codes, output, and the figures it reports.

The environment's EVENPACKCTL names the program, EVENPACK_SOURCE_DIR the repository.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = str(Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt"))
SHAPE = ["--micro-batches", "4", "--window", "131072", "--max-length", "196608"]
QUEUES = ["--queue-thresholds", "49152,98304"]

PACK_KEYS = """
    steps drain_steps backlog_steps documents_in documents_out tokens_in tokens_out
    left_over imbalance_degree lower_bound token_delay_mean document_delay
    tokens_per_step long_token_share longest_micro_batch decide_seconds
    documents_per_second digest
""".split()
SOLVER_KEYS = """
    time_limit gap windows optimal_windows time_limited_windows mean_gap max_gap
    mean_solve_seconds max_solve_seconds heaviest_mean lower_bound_mean
""".split()
SHARD_KEYS = """
    tokens_per_rank padding_per_rank attended_pairs_per_rank predicted_ns_per_rank
    slices_per_rank chosen imbalance plan_seconds
""".split()


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The finished program."""
    return subprocess.run(
        [PROGRAM, *arguments], input=stdin, capture_output=True, text=True, check=False
    )


def report(*arguments: str, stdin: str = "") -> dict[str, Any]:
    """The JSON report of a run that must succeed without a word on standard error."""
    finished = run(*arguments, "--json", stdin=stdin)
    if finished.returncode != 0 or finished.stderr:
        raise AssertionError(f"{finished.returncode}: {finished.stderr}")
    parsed: dict[str, Any] = json.loads(finished.stdout)
    return parsed


def pack(policy: str, *arguments: str, stdin: str = "") -> dict[str, Any]:
    """`pack` of the given lengths, or of standard input where there is some."""
    source = "-" if stdin else LENGTHS
    return report(
        "pack", "--lengths", source, "--policy", policy, *SHAPE, *arguments, stdin=stdin
    )


class BadInputTest(unittest.TestCase):
    def refused(self, *arguments: str, stdin: str = "") -> str:
        finished = run(*arguments, stdin=stdin)
        self.assertEqual(finished.returncode, 2, arguments)
        self.assertEqual(finished.stdout, "", arguments)
        self.assertRegex(finished.stderr, r"\Aevenpackctl: [^\n]+\n\Z", arguments)
        return finished.stderr

    def refused_pack(self, *more: str, lengths: str = "-", stdin: str = "5\n") -> str:
        return self.refused(
            "pack", "--lengths", lengths, "--policy", "wlb", *more, stdin=stdin
        )

    def test_bad_lengths(self) -> None:
        for bad in ["0", "-5", "12x", "1.5", "4294967296", "9" * 40, "", "\x1b"]:
            stdin = f"5\n{bad}\n5\n"
            for command in (
                ["pack", "--policy", "wlb", *SHAPE],
                ["compare"],
                ["shard", "--cp", "2", "--sharding", "adaptive"],
            ):
                message = self.refused(*command, "--lengths", "-", stdin=stdin)
                self.assertIn("line 2: '", message)
                self.assertIn("accepted: a document length in tokens, 1 to", message)

    def test_length_above_the_longest_micro_batch(self) -> None:
        message = self.refused_pack(*SHAPE, stdin="5\n196609\n")
        self.assertIn(
            "line 2: '196609' is not accepted; accepted: 1 to 196608", message
        )
        self.assertEqual(
            run(
                "pack", "--lengths", "-", "--policy", "wlb", *SHAPE,
                "--split-overlong", "true", stdin="5\n196609\n",
            ).returncode,
            0,
        )  # fmt: skip
        flags = "--micro-batches 1 --window 9 --max-length 9".split()
        flags += ["--split-overlong", "true"]
        for command in (["pack", "--policy", "wlb"], ["compare"]):
            message = self.refused(*command, *flags, "--lengths", "-", stdin="589825")
            self.assertIn("line 1: '589825' is not accepted; accepted: 1 to", message)

    def test_unreadable_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            missing = str(Path(folder, "missing"))
            self.assertIn(missing, self.refused_pack(*SHAPE, lengths=missing))
            self.assertIn("directory", self.refused_pack(*SHAPE, lengths=folder))
        self.assertIn("without documents", self.refused_pack(*SHAPE, stdin=""))
        self.assertIn("without documents", self.refused_pack(*SHAPE, stdin="\n\n"))

    def test_bad_shapes(self) -> None:
        window = ["--window", "131072"]
        for more, words in {
            ("--micro-batches", "0", *window): "--micro-batches: '0'",
            ("--micro-batches", "-4", *window): "--micro-batches: '-4'",
            ("--micro-batches", "four", *window): "--micro-batches: 'four'",
            ("--micro-batches", "4"): "--window is missing",
            ("--micro-batches", "4", "--window", "99999999999"): "'99999999999'",
            ("--micro-batches", "4", *window, "--max-length", "131071"): "'131071'",
            (*SHAPE, "--queue-thresholds", "5,5"): "--queue-thresholds[1]: 5",
            (*SHAPE, "--queue-thresholds", "9,5"): "--queue-thresholds[1]: 5",
            (*SHAPE, "--queue-thresholds", "5,x"): "--queue-thresholds: 'x'",
            (*SHAPE, "--backlog-limit", "-1"): "--backlog-limit: '-1'",
            (*SHAPE, "--max-delay", "x"): "--max-delay: 'x'",
            (*SHAPE, "--repeat", "0"): "--repeat: '0'",
            (*SHAPE, "--steps", "0"): "--steps: '0'",
            (*SHAPE, "--seed", "-1"): "--seed: '-1'",
            (*SHAPE, "--crossover", "0"): "--crossover: '0'",
            (*SHAPE, "--model", "8B"): "--model: '8B'",
            (*SHAPE, "--model", "7B", "--hardware", "T4"): "--hardware: 'T4'",
            (*SHAPE, "--model", "7B", "--crossover", "47000"): "one of the two",
            (*SHAPE, "--split-overlong", "maybe"): "accepted: true or false",
            (*SHAPE, "--time-limit", "-1"): "--time-limit: '-1'",
            (*SHAPE, "--gap", "0"): "accepted: a number from 0.00001 to 1",
        }.items():
            with self.subTest(more):
                self.assertIn(words, self.refused_pack(*more))

    def test_bad_command_lines(self) -> None:
        self.assertIn("accepted: pack, shard, compare", self.refused())
        self.assertIn("FILE is missing", self.refused("verify"))
        self.assertIn("'unpack'", self.refused("unpack"))
        self.assertIn("'--widow'", self.refused_pack(*SHAPE, "--widow", "5"))
        self.assertIn("accepted: --lengths,", self.refused_pack(*SHAPE, "extra"))
        self.assertIn("--policy is missing", self.refused("pack", "--lengths", LENGTHS))
        self.assertIn("--lengths is missing", self.refused("compare"))
        self.assertIn(
            "original, fixed_greedy, wlb, balanced, fixed_solver, varlen_solver",
            self.refused("pack", "--lengths", LENGTHS, "--policy", "best", *SHAPE),
        )

    def test_bad_shard_flags(self) -> None:
        shard = ["shard", "--lengths", LENGTHS]
        for more, words in {
            ("--cp", "0", "--sharding", "adaptive"): "--cp: '0'",
            ("--cp", "1025", "--sharding", "adaptive"): "1 to 1024",
            ("--cp", "4", "--sharding", "best"): "per_sequence, per_document, adaptive",
            ("--cp", "4"): "--sharding is missing",
            ("--cp", "4", "--sharding", "adaptive", "--pad-to", "-1"): "--pad-to: '-1'",
        }.items():
            with self.subTest(more):
                self.assertIn(words, self.refused(*shard, *more))


class FiguresTest(unittest.TestCase):
    def test_a_report_is_complete(self) -> None:
        figures = pack("wlb", *QUEUES)
        self.assertEqual(list(figures)[: len(PACK_KEYS)], PACK_KEYS)
        self.assertEqual(figures["documents_in"], 99519)
        self.assertEqual(figures["documents_out"], 99519)
        self.assertEqual(figures["tokens_in"], figures["tokens_out"])
        self.assertEqual(figures["left_over"], 0)
        self.assertLessEqual(figures["longest_micro_batch"], 196608)
        self.assertRegex(figures["digest"], "^[0-9a-f]{32}$")
        for key, members in {
            "imbalance_degree": ["mean", "p50", "p99", "max", "weighted"],
            "lower_bound": ["mean"],
            "document_delay": ["p50", "p99", "max"],
            "tokens_per_step": ["mean", "cv", "min", "max"],
            "long_token_share": ["p5", "p50", "p95", "stream"],
            "decide_seconds": ["mean", "p50", "p99"],
        }.items():
            self.assertEqual(list(figures[key]), members)

    def test_imbalance_on_the_given_lengths(self) -> None:
        for policy, flags, low, high in [
            ("wlb", QUEUES, 1.015, 1.025),
            ("wlb", [], 1.22, 1.26),
            ("original", [], 1.45, 1.50),
            ("original", ["--split-documents", "true"], 1.28, 1.33),
            ("fixed_greedy", ["--window-batches", "1"], 1.365, 1.405),
            ("fixed_greedy", ["--window-batches", "2"], 1.21, 1.25),
            ("fixed_greedy", ["--window-batches", "4"], 1.095, 1.135),
            ("fixed_greedy", ["--window-batches", "8"], 1.04, 1.08),
            ("balanced", [], 1.0, 1.01),
        ]:
            with self.subTest(policy=policy, flags=flags):
                figures = pack(policy, "--crossover", "47000", *flags)
                self.assertGreaterEqual(figures["imbalance_degree"]["mean"], low)
                self.assertLessEqual(figures["imbalance_degree"]["mean"], high)
                self.assertEqual(figures["documents_in"], figures["documents_out"])
                self.assertEqual(figures["left_over"], 0)

    def test_token_delay_on_the_given_lengths(self) -> None:
        figures = pack("wlb", *QUEUES)
        self.assertGreaterEqual(figures["token_delay_mean"], 0.5)
        self.assertLessEqual(figures["token_delay_mean"], 0.6)

    def test_a_model_gives_figures_like_its_crossover(self) -> None:
        figures = pack("wlb", *QUEUES, "--model", "7B", "--hardware", "H100")
        self.assertLess(figures["imbalance_degree"]["mean"], 1.03)

    def test_without_a_full_step_figures_are_null(self) -> None:
        figures = pack("wlb", stdin="5\n6\n")
        self.assertEqual(figures["steps"], 0)
        self.assertEqual(figures["documents_out"], 2)
        self.assertEqual(set(figures["imbalance_degree"].values()), {None})
        self.assertEqual(set(figures["tokens_per_step"].values()), {None})
        self.assertEqual(figures["lower_bound"], {"mean": None})

    def test_delay_bound_and_cut_documents_hold(self) -> None:
        figures = pack("wlb", *QUEUES, "--max-delay", "2", "--steps", "100")
        self.assertLessEqual(figures["document_delay"]["max"], 2)
        cut = report(
            "pack", "--lengths", LENGTHS, "--policy", "wlb", "--micro-batches", "8",
            "--window", "20000", "--split-overlong",
        )  # fmt: skip
        self.assertEqual(cut["documents_out"], 99519)
        self.assertLessEqual(cut["longest_micro_batch"], 20000)

    def test_standard_input_is_a_file_too(self) -> None:
        text = Path(LENGTHS).read_text(encoding="utf-8")
        from_input = pack("wlb", *QUEUES, stdin=text)
        self.assertEqual(from_input["digest"], pack("wlb", *QUEUES)["digest"])

    def test_passes_and_seeds(self) -> None:
        def digest(passes: str, seed: str) -> object:
            figures = pack("wlb", *QUEUES, "--repeat", passes, "--seed", seed)
            self.assertEqual(figures["documents_out"], 99519 * int(passes))
            return figures["digest"]

        self.assertEqual(digest("3", "1"), digest("3", "1"))
        self.assertNotEqual(digest("3", "1"), digest("3", "2"))
        self.assertEqual(digest("1", "1"), pack("wlb", *QUEUES)["digest"])

    def test_steps_end_the_run(self) -> None:
        figures = pack("wlb", *QUEUES, "--steps", "20")
        self.assertEqual(figures["steps"], 20)
        self.assertLess(figures["documents_in"], 99519)
        self.assertEqual(figures["documents_in"], figures["documents_out"])


class ExactPoliciesTest(unittest.TestCase):
    def solved(self, policy: str, *flags: str) -> dict[str, Any]:
        """Figures of a short run, whose searches may find all or nothing."""
        figures = pack(policy, "--steps", "4", *flags)
        self.assertEqual(list(figures)[: len(PACK_KEYS)], PACK_KEYS)
        self.assertEqual(figures["policy"], policy)
        self.assertEqual(figures["steps"], 4)
        self.assertEqual(figures["documents_in"], figures["documents_out"])
        self.assertEqual(figures["left_over"], 0)
        solver: dict[str, Any] = figures["solver"]
        self.assertEqual(list(solver), SOLVER_KEYS)
        self.assertLessEqual(solver["optimal_windows"], solver["windows"])
        self.assertLessEqual(solver["time_limited_windows"], solver["windows"])
        self.assertLessEqual(0, solver["mean_gap"])
        self.assertLessEqual(solver["mean_gap"], solver["max_gap"])
        self.assertLessEqual(solver["lower_bound_mean"], solver["heaviest_mean"])
        return figures

    def test_a_solver_is_no_worse_than_where_it_starts(self) -> None:
        for policy, flags in [
            ("fixed_solver", ["--window-batches", "1"]),
            ("fixed_solver", ["--window-batches", "2"]),
            ("varlen_solver", []),
        ]:
            with self.subTest(policy=policy, flags=flags):
                start = self.solved(policy, *flags, "--time-limit", "0")
                found = self.solved(policy, *flags, "--time-limit", "0.5")
                self.assertLessEqual(
                    found["solver"]["heaviest_mean"], start["solver"]["heaviest_mean"]
                )

    def test_bounds_of_length_hold(self) -> None:
        fixed = self.solved("fixed_solver", "--time-limit", "0.2")
        self.assertLessEqual(fixed["longest_micro_batch"], 131072)
        varlen = self.solved("varlen_solver", "--time-limit", "0.2")
        self.assertLessEqual(varlen["longest_micro_batch"], 196608)

    def test_a_coarse_gap_needs_no_search(self) -> None:
        solver = self.solved("fixed_solver", "--gap", "1", "--time-limit", "300")[
            "solver"
        ]
        self.assertEqual(solver["optimal_windows"], solver["windows"])
        self.assertEqual(solver["time_limited_windows"], 0)

    def test_flags_without_effect_are_noted(self) -> None:
        for policy, flag, value in [
            ("varlen_solver", "--queue-thresholds", "49152"),
            ("varlen_solver", "--window-batches", "2"),
            ("wlb", "--time-limit", "2"),
            ("wlb", "--gap", "0.5"),
        ]:
            finished = run(
                "pack", "--lengths", "-", "--policy", policy, *SHAPE, flag, value,
                stdin="5\n6\n",
            )  # fmt: skip
            self.assertEqual(finished.returncode, 0)
            self.assertIn(f"note: {flag} has no effect here", finished.stderr)

    def test_text_has_the_search_too(self) -> None:
        finished = run(
            "pack", "--lengths", "-", "--policy", "fixed_solver", *SHAPE,
            stdin="5000\n6000\n",
        )  # fmt: skip
        self.assertEqual(finished.returncode, 0)
        self.assertEqual(finished.stderr, "")
        self.assertIn("windows solved         1, 1 within 0.0001", finished.stdout)

    def test_an_interrupt_ends_a_search(self) -> None:
        with subprocess.Popen(
            [
                PROGRAM, "pack", "--lengths", LENGTHS, "--policy", "fixed_solver",
                *SHAPE, "--window-batches", "4", "--time-limit", "600",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=3)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(), -signal.SIGINT)


def index(documents: list[list[int]]) -> bytes:
    """Megatron-Core's index of documents, each a list of its sequences' tokens."""
    sequences = [tokens for document in documents for tokens in document]
    ends = [0, *itertools.accumulate(len(document) for document in documents)]
    pointers = [0, *itertools.accumulate(4 * tokens for tokens in sequences)][:-1]
    return struct.pack(
        f"<9sQBQQ{len(sequences)}i{len(sequences)}q{len(ends)}q",
        b"MMIDIDX\0\0", 1, 4, len(sequences), len(ends),
        *sequences, *pointers, *ends,
    )  # fmt: skip


class IndexTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = str(Path(folder.name, "corpus"))

    def write(self, documents: list[list[int]]) -> None:
        Path(self.prefix + ".idx").write_bytes(index(documents))

    def test_it_says_what_a_file_of_lengths_says(self) -> None:
        lengths = [int(line) for line in Path(LENGTHS).read_text("utf-8").split()]
        self.write([[length // 2, length - length // 2] for length in lengths])
        flags = ["--policy", "wlb", *SHAPE, *QUEUES]
        by_index = report("pack", "--idx", self.prefix, *flags)
        self.assertEqual(by_index["digest"], pack("wlb", *QUEUES)["digest"])
        compared = report("compare", "--idx", self.prefix + ".idx", "--steps", "5")
        by_lines = report("compare", "--lengths", LENGTHS, "--steps", "5")
        self.assertEqual(
            [row["digest"] for row in compared["policies"]],
            [row["digest"] for row in by_lines["policies"]],
        )

    def test_documents_without_a_token_are_left_out_with_a_note(self) -> None:
        self.write([[60000], [], [9000], [0]])
        sharded = run("shard", "--idx", self.prefix, "--cp", "2", "--sharding",
                      "per_document", "--json")  # fmt: skip
        self.assertEqual(sharded.returncode, 0)
        self.assertEqual(
            sharded.stderr,
            f"evenpackctl: note: documents of {self.prefix}.idx without a token, left "
            "out: 2\n",
        )
        self.assertEqual(sum(json.loads(sharded.stdout)["tokens_per_rank"]), 69000)

    def test_bad_input_is_refused(self) -> None:
        self.write([[5], [7]])
        for arguments, words in (
            (["--idx", self.prefix, "--lengths", LENGTHS], "--lengths together with"),
            (["--idx", self.prefix + "x"], "corpusx.idx' (No such file"),
            (["--idx", self.prefix, "--max-length", "196608", "--window", "x"], "'x'"),
        ):
            refused = run("compare", *arguments)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(words, refused.stderr)
        path = Path(self.prefix + ".idx")
        path.write_bytes(path.read_bytes()[:-1])
        cut = run("compare", "--idx", self.prefix)
        self.assertEqual(cut.returncode, 2)
        self.assertIn("count of document indices at byte 26: 3 is not acc", cut.stderr)


class OtherCommandsTest(unittest.TestCase):
    def test_help_and_version(self) -> None:
        version = run("--version")
        self.assertEqual((version.returncode, version.stderr), (0, ""))
        self.assertRegex(version.stdout, r"^evenpackctl \d+\.\d+\.\d+\n$")
        for arguments in (["--help"], ["pack", "--help"], ["shard", "--help"]):
            helped = run(*arguments)
            self.assertEqual((helped.returncode, helped.stderr), (0, ""))
            self.assertIn("Options:", helped.stdout)

    def test_compare_needs_only_a_file(self) -> None:
        compared = report("compare", "--lengths", LENGTHS)
        self.assertEqual(compared["documents"], 99519)
        rows = {row["name"]: row for row in compared["policies"]}
        self.assertEqual(len(rows), 7)
        for row in rows.values():
            self.assertEqual(row["left_over"], 0)
            self.assertLessEqual(set(PACK_KEYS), set(row))
        best = min(rows.values(), key=lambda row: row["imbalance_degree"]["weighted"])
        self.assertEqual(best["name"], "balanced")
        self.assertEqual(best["digest"], pack("balanced")["digest"])
        queues = rows["wlb (49152,98304)"]
        self.assertEqual(queues["digest"], pack("wlb", *QUEUES)["digest"])
        table = run("compare", "--lengths", LENGTHS)
        self.assertIn("####", table.stdout)
        self.assertIn("is predicted", table.stdout)

    def test_compare_packs_the_same_documents_with_every_policy(self) -> None:
        rows = report("compare", "--lengths", LENGTHS, "--steps", "5")["policies"]
        self.assertEqual(len({row["documents_in"] for row in rows}), 1)
        self.assertEqual(len({row["tokens_out"] for row in rows}), 1)
        self.assertGreaterEqual(rows[0]["tokens_in"], 5 * 4 * 131072)

    def test_shard_covers_every_token_once(self) -> None:
        lengths = [7, 1, 40, 3, 128]
        stdin = "".join(f"{length}\n" for length in lengths)
        for sharding in ("per_sequence", "per_document", "adaptive"):
            for ranks in (1, 2, 3, 7):
                for padding in ("0", "4"):
                    plan = report(
                        "shard", "--lengths", "-", "--cp", str(ranks), "--sharding",
                        sharding, "--pad-to", padding, "--print-slices", stdin=stdin,
                    )  # fmt: skip
                    self.assertEqual(list(plan)[: len(SHARD_KEYS)], SHARD_KEYS)
                    self.check_slices(plan, lengths, ranks)

    def check_slices(
        self, plan: dict[str, Any], lengths: list[int], ranks: int
    ) -> None:
        self.assertEqual(len(plan["slices"]), ranks)
        tokens: list[tuple[int, int]] = []
        for rank, slices in enumerate(plan["slices"]):
            own = [
                (piece["document"], token)
                for piece in slices
                for token in range(piece["begin"], piece["end"])
            ]
            tokens += own
            self.assertEqual(plan["slices_per_rank"][rank], len(slices))
            self.assertEqual(
                plan["tokens_per_rank"][rank], len(own) + plan["padding_per_rank"][rank]
            )
            self.assertEqual(
                plan["attended_pairs_per_rank"][rank], sum(t + 1 for _, t in own)
            )
        every = [(i, t) for i, length in enumerate(lengths) for t in range(length)]
        self.assertEqual(sorted(tokens), every)
        predicted = plan["predicted_ns_per_rank"]
        self.assertAlmostEqual(
            plan["imbalance"], max(predicted) * ranks / sum(predicted), places=9
        )

    def test_a_reader_that_leaves_is_no_error(self) -> None:
        with subprocess.Popen(
            [
                PROGRAM, "shard", "--lengths", LENGTHS, "--cp", "4", "--sharding",
                "per_document", "--print-slices",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(), 0)

    def test_a_full_disk_is_an_error(self) -> None:
        with Path("/dev/full").open("wb") as full:
            finished = subprocess.run(
                [PROGRAM, "--version"], stdout=full, stderr=subprocess.PIPE, check=False
            )
        self.assertEqual(finished.returncode, 1)
        self.assertIn(b"standard output: No space left", finished.stderr)


if __name__ == "__main__":
    unittest.main()
