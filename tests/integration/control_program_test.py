"""evenpackctl against a server: a job's life, from flags to its last step."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from child_process import ChildProcess
from free_ports import free_ports
from server_process import ServerProcess

PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt")
BAD_INPUT = 2
REFUSED = 3
UNAVAILABLE = 4

# The paper's 7B-128K: 4 micro-batches a step, CP 2.
WINDOW = ["--window", "131072", "--max-length", "196608", "--split-overlong", "true"]
SHAPE = ["--model", "7B", *WINDOW, "--cp", "2"]
POLICIES = {
    "wlb": ["--policy", "wlb", "--queue-thresholds", "49152,98304"],
    "balanced": ["--policy", "balanced", "--max-delay", "8"],
}


class ControlProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())

    def command(self, *arguments: str) -> list[str]:
        """The program with what it is told, and which server to use."""
        offline = arguments[0] == "pack" or "--server" in arguments
        at_server = [] if offline else ["--server", self.server.grpc_address]
        return [PROGRAM, *arguments, *at_server]

    def run_program(
        self, *arguments: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def report(self, *arguments: str, stdin: str = "") -> dict[str, Any]:
        """The JSON that a good run prints."""
        finished = self.run_program(*arguments, "--json", stdin=stdin)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""), arguments)
        told: dict[str, Any] = json.loads(finished.stdout)
        return told

    def follow(self, *arguments: str) -> ChildProcess:
        """A follower that runs beside the test."""
        command = self.command("follow", *arguments, "--json")
        return self.enterContext(ChildProcess(command))

    def steps(self, follower: ChildProcess) -> list[dict[str, Any]]:
        """All that it prints, to its good end."""
        steps = []
        while (line := follower.next_line()) is not None:
            steps.append(json.loads(line))
        self.assertEqual((follower.wait(), follower.stderr()), (0, ""))
        return steps

    def test_the_real_lengths_from_one_process_to_two_ranks(self) -> None:
        for name, policy in POLICIES.items():
            with self.subTest(name):
                self.check_real_lengths(name, [*policy, *SHAPE])

    def check_real_lengths(self, run: str, shape: list[str]) -> None:
        parallel = ["--dp", "2", "--micro-batches", "2"]
        # Offline there are no ranks to place micro-batches on.
        sharding = ["--sharding", "hybrid", "--spec", "-"] if run == "balanced" else []
        stdin = '{"policy": {"balanced": {"place": false}}}' if sharding else ""
        self.report("jobs", "create", run, *parallel, *shape, *sharding, stdin=stdin)
        durable = ["--job", run, "--ack", "durable"]
        followers = [
            self.follow(*durable, "--dp-rank", "0"),
            self.follow(*durable, "--dp-rank", "1", "--cp-rank", "1"),
        ]
        lengths = [int(line) for line in LENGTHS.read_text().split()]
        sent = self.report(
            *("ingest", "--job", run, "--lengths", str(LENGTHS), "--end-of-stream")
        )
        self.assertEqual(sent["next_sequence"], len(lengths))
        ranks = [self.steps(follower) for follower in followers]

        # The same documents packed offline: the same history.
        packed = self.report(
            "pack", "--lengths", str(LENGTHS), "--micro-batches", "4", *shape
        )
        last = {rank[-1]["digest"] for rank in ranks}
        self.assertEqual(last, {packed["digest"]})
        parts = ("steps", "drain_steps", "backlog_steps")
        self.assertEqual(len(ranks[0]), sum(packed[part] for part in parts))
        self.check_documents(ranks, lengths)
        self.check_slices(ranks[1])
        job = self.report("jobs", "describe", run)
        self.assertTrue(job["drained"])
        self.assertEqual(job["durable_steps"], len(ranks[0]))

    def check_documents(
        self, ranks: list[list[dict[str, Any]]], lengths: list[int]
    ) -> None:
        """Every document comes once, whole or in pieces, and none out of bounds."""
        pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for rank, steps in enumerate(ranks):
            for index, step in enumerate(steps):
                self.assertEqual((step["step"], step["dp_rank"]), (index, rank))
                held = step["micro_batches"]
                self.assertEqual(
                    [each["index"] for each in held], [2 * rank, 2 * rank + 1]
                )
                for each in held:
                    self.assertLessEqual(each["tokens"] + each["padding"], 196608)
                    for document in each["documents"]:
                        self.assertEqual(document["stream"], "default")
                        piece = (document["offset"], document["length"])
                        pieces[document["sequence"]].append(piece)
        self.assertEqual(len(pieces), len(lengths))
        for sequence, length in enumerate(lengths):
            end = 0
            for offset, part in sorted(pieces[sequence]):
                self.assertEqual(offset, end, f"document {sequence}")
                end += part
            self.assertEqual(end, length, f"document {sequence}")

    def check_slices(self, steps: list[dict[str, Any]]) -> None:
        """A CP rank's slices lie in their documents and are about half of them."""
        total = mine = 0
        for step in steps:
            for each in step["micro_batches"]:
                total += each["tokens"]
                for piece in each["slices"]:
                    document = each["documents"][piece["document"]]
                    self.assertLess(piece["begin"], piece["end"])
                    self.assertLessEqual(piece["end"], document["length"])
                    mine += piece["end"] - piece["begin"]
        self.assertAlmostEqual(mine / total, 0.5, delta=0.01)

    def test_a_follower_goes_on_where_another_stopped(self) -> None:
        self.report("jobs", "create", "run", "--dp", "1", "--window", "1000")
        self.report(
            *("ingest", "--job", "run", "--lengths", "-", "--end-of-stream"),
            stdin="600\n400\n" * 5,
        )
        first = self.steps(
            self.follow("--job", "run", "--dp-rank", "0", "--steps", "2")
        )
        self.assertEqual([step["step"] for step in first], [0, 1])
        rest = self.steps(
            self.follow("--job", "run", "--dp-rank", "0", "--from-step", "2")
        )
        self.assertEqual([step["step"] for step in rest], [2, 3, 4])
        # One step by itself is the same.
        alone = self.report("step", "--job", "run", "--dp-rank", "0", "--step", "3")
        self.assertEqual(alone["digest"], rest[1]["digest"])
        self.assertEqual(alone["micro_batches"], rest[1]["micro_batches"])

    def test_jobs_are_made_listed_changed_and_deleted(self) -> None:
        flags = ["--streams", "web=3,code", "--dp", "2", "--window", "4096"]
        for name in ("b", "a"):
            self.report("jobs", "create", name, *flags)
        listed = self.report("jobs", "list")["jobs"]
        self.assertEqual([job["name"] for job in listed], ["a", "b"])
        self.assertEqual(
            listed[0]["spec"]["streams"],
            [{"name": "web", "weight": 3}, {"name": "code", "weight": 1}],
        )
        self.report("jobs", "update", "a", "--dp", "4")
        told = self.report("jobs", "describe", "a")
        self.assertEqual((told["epoch"], told["spec"]["parallelism"]["data"]), (1, 4))
        self.assertEqual(told["spec"]["window"], 4096)
        self.report("jobs", "delete", "b")
        listed = self.report("jobs", "list")["jobs"]
        self.assertEqual([job["name"] for job in listed], ["a"])

    def test_a_server_that_is_back_is_found_with_the_next_attempt(self) -> None:
        (port,) = free_ports(1)
        address = f"127.0.0.1:{port}"
        command = self.command("jobs", "list", "--json", "--server", address)
        # In less time than gRPC takes to look at connections by itself.
        command += ["--timeout", "4"]
        with socket.create_server(("127.0.0.1", port)) as away:
            program = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            # It has tried once.
            away.accept()[0].close()
        # And again, until this one is there.
        self.enterContext(ServerProcess(listen=address))
        printed, errors = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 0, errors)
        self.assertEqual(json.loads(printed)["jobs"], [])

    def test_whoever_waits_for_a_server_is_told(self) -> None:
        nobody = ["--server", "127.0.0.1:1", "--timeout", "7"]
        finished = self.run_program("jobs", "list", "--json", *nobody)
        self.assertEqual(finished.returncode, UNAVAILABLE)
        note, error = finished.stderr.splitlines()
        self.assertRegex(
            note,
            r"\Aevenpackctl: note: ListJobs has failed for \d s and is tried for "
            r"\d s more: UNAVAILABLE: .*127\.0\.0\.1:1",
        )
        self.assertRegex(error, r"\Aevenpackctl: .*gave up after")

    def test_errors_are_one_line_and_an_exit_status(self) -> None:
        self.report("jobs", "create", "taken", "--window", "1000")
        nobody = ["--server", "127.0.0.1:1", "--timeout", "0"]
        for arguments, status, says in (
            (["jobs", "create", "taken", "--window", "1000"], REFUSED, "is taken"),
            (["jobs", "create", "new", "--window", "0"], BAD_INPUT, "window"),
            (["jobs", "describe", "none"], REFUSED, "job: 'none' is not known"),
            (["follow", "--job", "taken", "--dp-rank", "7"], BAD_INPUT, "dp_rank: 7"),
            (
                ["ingest", "--job", "taken", "--stream", "x", "--lengths", "-"],
                REFUSED,
                "stream: 'x'",
            ),
            (["jobs", "list", *nobody], UNAVAILABLE, "127.0.0.1:1"),
        ):
            finished = self.run_program(*arguments)
            self.assertEqual(finished.returncode, status, finished.stderr)
            self.assertRegex(finished.stderr, r"\Aevenpackctl: [^\n]+\n\Z")
            self.assertIn(says, finished.stderr)


if __name__ == "__main__":
    unittest.main()
