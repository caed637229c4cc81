"""evenpack-worker tests itself: ranks as threads, and as processes over Gloo."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path

PROGRAM = os.environ["EVENPACK_WORKER_PROGRAM"]
BAD_INPUT = 2
FAILED = 1
# Sanitizers take several times as long for each.
SANITIZED = b"__asan_init" in Path(PROGRAM).read_bytes()
PLANS = 200 if SANITIZED else 1000
PLANS_OF_PROCESSES = 15 if SANITIZED else 60


def start(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PROGRAM, "--selftest", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def result(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


class WorkerSelftestTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def start_group(
        self,
        ranks: int,
        *arguments: str,
        environments: Mapping[int, Mapping[str, str]] | None = None,
    ) -> list[subprocess.Popen[str]]:
        """One process for each rank; some with variables of their own."""
        return [
            start(
                *("--group-folder", self.folder, "--group", f"of-{ranks}"),
                *("--ranks", str(ranks), "--rank", str(rank)),
                *arguments,
                environment=(environments or {}).get(rank),
            )
            for rank in range(ranks)
        ]

    def test_ranks_as_threads(self) -> None:
        code, out, err = result(start("--cases", "60", "--json"))
        self.assertEqual((code, err), (0, ""))
        report = json.loads(out)
        self.assertEqual(report["cases"], 60)
        self.assertEqual(sum(report["shardings"].values()), 60)
        self.assertEqual(sum(entry["cases"] for entry in report["ranks"]), 60)
        for errors in report["errors"]:
            self.assertGreater(errors["output"], 0)
            self.assertLess(errors["key_gradient"], errors["accepted"])

    def test_a_thousand_plans_of_short_documents(self) -> None:
        flags = ("--cases", str(PLANS), "--max-length", "60", "--seed", "2")
        code, out, err = result(start(*flags, "--json"))
        self.assertEqual((code, err), (0, ""))
        report = json.loads(out)
        drawn = report["ranks"][1:] + report["head_sizes"] + report["head_groups"]
        for entry in drawn:
            self.assertGreater(entry["cases"], PLANS // 20, entry)
        self.assertEqual(len(report["head_sizes"]), 4)
        self.assertGreater(report["sliding_window"], PLANS // 5)
        self.assertGreater(report["padding"], PLANS // 5)

    def test_threads_that_the_system_refuses_are_an_error(self) -> None:
        if SANITIZED:
            self.skipTest("a sanitizer's memory is beyond any limit")
        little = (1 << 30, 1 << 30)
        ended = subprocess.run(
            [PROGRAM, "--selftest", "--threads", "1024"],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, little),
        )
        self.assertEqual((ended.returncode, ended.stdout), (FAILED, ""))
        self.assertRegex(
            ended.stderr, r"^evenpack-worker: threads: \d+ of \d+ could be made: .*\n$"
        )

    def test_what_can_not_be_written_is_an_error(self) -> None:
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [PROGRAM, "--selftest", "--cases", "1"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.assertEqual(
            (ended.returncode, ended.stderr),
            (FAILED, "evenpack-worker: standard output: No space left on device\n"),
        )

    def test_ranks_as_processes(self) -> None:
        for ranks in (1, 2, 3, 4, 8):
            with self.subTest(ranks=ranks):
                cases = PLANS_OF_PROCESSES
                flags = ("--cases", str(cases), "--max-length", "60", "--json")
                for process in self.start_group(ranks, *flags):
                    code, out, err = result(process)
                    self.assertEqual((code, err), (0, ""))
                    report = json.loads(out)
                    self.assertEqual(
                        [entry["cases"] for entry in report["ranks"]],
                        [0] * (ranks - 1) + [cases],
                    )

    def test_the_name_of_a_group_is_used_once(self) -> None:
        (first,) = self.start_group(1, "--cases", "1")
        self.assertEqual(result(first)[0], 0)
        (again,) = self.start_group(1, "--cases", "1")
        code, out, err = result(again)
        self.assertEqual((code, out), (FAILED, ""))
        self.assertIn("group: 'of-1' has or had a cp_rank 0 in folder", err)

    def test_a_rank_that_dies_ends_its_group(self) -> None:
        dies = {1: {"EVENPACK_KILL_AT": "exchange.before:20"}}
        ranks = self.start_group(3, "--cases", "100000", environments=dies)
        for rank, process in enumerate(ranks):
            code, out, err = result(process)
            if rank == 1:
                self.assertEqual(code, -signal.SIGKILL)
                continue
            self.assertEqual((code, out), (FAILED, ""))
            self.assertRegex(err, r"^evenpack-worker: case \d+ of seed 1: ")
            self.assertIn("with its group failed", err)

    def test_a_group_that_never_forms_is_told_of(self) -> None:
        flags = ("--group-folder", self.folder, "--ranks", "2", "--rank", "0")
        code, out, err = result(start(*flags, "--group-timeout-seconds", "1"))
        self.assertEqual((code, out), (FAILED, ""))
        self.assertIn("can't join group 'group'", err)

    def test_wrong_flags_are_refused(self) -> None:
        for arguments in (["--cases", "0"], ["--rank", "1"], ["extra"]):
            code, out, err = result(start(*arguments))
            self.assertEqual((code, out), (BAD_INPUT, ""))
            self.assertRegex(err, "^evenpack-worker: ")


if __name__ == "__main__":
    unittest.main()
