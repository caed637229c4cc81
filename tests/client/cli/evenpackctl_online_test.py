"""Runs evenpackctl from outside against a server: jobs, ingest, follow, step.

The environment's EVENPACKCTL and EVENPACK_SERVER_PROGRAM name the programs,
EVENPACK_SOURCE_DIR the repository.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import IO, Any

PROGRAM = os.environ["EVENPACKCTL"]
SERVER = os.environ["EVENPACK_SERVER_PROGRAM"]
LENGTHS = str(Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt"))

STEP_KEYS = ["step", "dp_rank", "micro_batches", "digest"]
MICRO_BATCH_KEYS = [
    "index", "tokens", "padding", "workload_ns", "documents", "sharding", "digest",
]  # fmt: skip
DOCUMENT_KEYS = ["stream", "sequence", "id", "offset", "length"]
INGEST_KEYS = [
    "job", "stream", "documents", "tokens", "next_sequence", "ended", "seconds",
    "documents_per_second",
]  # fmt: skip
SMALL = ["--dp", "2", "--micro-batches", "2", "--cp", "2", "--window", "100"]
ROOMY = ["--max-buffered-tokens", "1000000000"]
HEX = re.compile(r"[0-9a-f]{32}")


class ServerTest(unittest.TestCase):
    """Each test has a job of its own, named after it, on one server for all."""

    server: subprocess.Popen[str]
    environment: dict[str, str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = subprocess.Popen(
            [SERVER, "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert cls.server.stdout is not None
        address = ""
        while not address:
            line = cls.server.stdout.readline()
            if not line:
                raise AssertionError("the server has not started")
            if found := re.match(r"grpc listening on (\S+)", line):
                address = found.group(1)
        cls.environment = {**os.environ, "EVENPACK_SERVER": address}

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.terminate()
        cls.server.communicate()

    def setUp(self) -> None:
        self.job = self.id().rsplit(".", 1)[-1]

    def run_program(
        self, *arguments: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            timeout=120,
        )

    def succeed(self, *arguments: str, stdin: str = "") -> str:
        finished = self.run_program(*arguments, stdin=stdin)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout

    def refused(self, code: int, *arguments: str, stdin: str = "") -> str:
        finished = self.run_program(*arguments, stdin=stdin)
        self.assertEqual(finished.returncode, code, finished.stderr)
        self.assertRegex(finished.stderr, r"\Aevenpackctl: [^\n]+\n\Z")
        return finished.stderr

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def create(self, *flags: str) -> dict[str, Any]:
        job: dict[str, Any] = json.loads(
            self.succeed("jobs", "create", self.job, *flags, "--json")
        )
        return job

    def describe(self) -> dict[str, Any]:
        job: dict[str, Any] = json.loads(
            self.succeed("jobs", "describe", self.job, "--json")
        )
        return job

    def ingest(self, *flags: str, stdin: str = "") -> dict[str, Any]:
        report: dict[str, Any] = json.loads(
            self.succeed("ingest", "--job", self.job, *flags, "--json", stdin=stdin)
        )
        self.assertEqual(list(report), INGEST_KEYS)
        return report

    def follow(self, *flags: str) -> list[dict[str, Any]]:
        return steps_of(self.succeed("follow", "--job", self.job, *flags, "--json"))


def steps_of(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def numbers(first: int, last: int) -> str:
    return "".join(f"{number}\n" for number in range(first, last + 1))


def read_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


class JobsTest(ServerTest):
    def test_a_job_is_created_described_updated_and_deleted(self) -> None:
        job = self.create(*SMALL, "--streams", "web,books=3", "--policy", "wlb")
        self.assertEqual(job["name"], self.job)
        self.assertEqual(job["epoch"], 0)
        self.assertEqual(job["spec"]["parallelism"]["micro_batches_per_rank"], 2)
        self.assertEqual(
            [(s["name"], s["weight"]) for s in job["spec"]["streams"]],
            [("web", 1), ("books", 3)],
        )
        self.assertEqual(self.describe(), job)
        self.assertIn(self.job, self.succeed("jobs", "list"))
        listed = json.loads(self.succeed("jobs", "list", "--json"))["jobs"]
        self.assertIn(job, listed)
        self.assertIn("DP 2 x 2", self.succeed("jobs", "describe", self.job))
        updated = json.loads(
            self.succeed("jobs", "update", self.job, "--cp", "4", "--json")
        )
        self.assertEqual(updated["epoch"], 1)
        job["spec"]["parallelism"]["context"] = 4
        self.assertEqual(updated["spec"], job["spec"])
        self.succeed("jobs", "delete", self.job)
        self.assertIn(self.job, self.refused(3, "jobs", "describe", self.job))

    def test_a_spec_comes_back_as_a_file(self) -> None:
        spec = self.create(*SMALL, "--max-delay", "5", "--model", "7B")["spec"]
        self.succeed("jobs", "delete", self.job)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "spec.json")
            path.write_text(json.dumps(spec), encoding="utf-8")
            self.assertEqual(self.create("--spec", str(path))["spec"], spec)
        self.succeed("jobs", "delete", self.job)
        yaml = "window: 100\nparallelism: {data: 2}\n"
        job = json.loads(
            self.succeed(
                "jobs", "create", self.job, "--spec", "-", "--dp", "4", "--json",
                stdin=yaml,
            )
        )  # fmt: skip
        self.assertEqual(job["spec"]["parallelism"]["data"], 4)
        self.assertEqual(job["streams"][0]["name"], "default")

    def test_what_is_refused_says_why(self) -> None:
        self.create(*SMALL)
        create = ["jobs", "create", self.job]
        self.assertIn(self.job, self.refused(3, *create, *SMALL))
        self.assertIn("--window is missing", self.refused(2, *create))
        self.assertIn("'0'", self.refused(2, *create, "--window", "0"))
        self.assertIn(
            "max_length: 5",
            self.refused(2, *create[:2], "new", "--window", "9", "--max-length", "5"),
        )
        update = ["jobs", "update", self.job]
        self.assertIn("no change", self.refused(2, *update))
        self.refused(3, *update, "--cp", "4", "--expected-epoch", "7")
        self.refused(3, "jobs", "delete", "no-such-job")

    def test_without_a_server_it_gives_up_in_time(self) -> None:
        for command in (
            ["jobs", "list"],
            ["ingest", "--job", "a", "--lengths", LENGTHS],
            ["follow", "--job", "a", "--dp-rank", "0"],
            ["step", "--job", "a", "--dp-rank", "0", "--step", "0"],
        ):
            self.refused(4, *command, "--server", "127.0.0.1:1", "--timeout", "0")


class IngestTest(ServerTest):
    def test_a_run_again_takes_nothing_twice(self) -> None:
        self.create(*SMALL, *ROOMY)
        first = self.ingest("--lengths", "-", stdin=numbers(1, 50))
        self.assertEqual(first["documents"], 50)
        self.assertEqual(first["tokens"], 1275)
        self.assertEqual(first["next_sequence"], 50)
        self.assertFalse(first["ended"])
        again = self.ingest(
            "--lengths", "-", "--end-of-stream", stdin=numbers(1, 60)
        )  # fmt: skip
        self.assertEqual(again["documents"], 60)
        self.assertEqual(again["next_sequence"], 60)
        self.assertTrue(again["ended"])
        self.assertEqual(self.describe()["streams"][0]["next_sequence"], 60)

    def test_other_content_and_gaps_are_refused(self) -> None:
        self.create(*SMALL, *ROOMY)
        ingest = ["ingest", "--job", self.job, "--lengths", "-"]
        self.succeed(*ingest, stdin=numbers(1, 50))
        finished = self.run_program(*ingest, "--json", stdin=numbers(2, 51))
        self.assertEqual(finished.returncode, 3)
        self.assertEqual(json.loads(finished.stdout)["documents"], 0)
        self.refused(3, *ingest, "--from-sequence", "51", stdin="5\n")
        self.refused(3, *ingest, "--stream", "web", stdin="5\n")
        self.assertEqual(
            self.ingest("--lengths", "-", "--from-sequence", "50", stdin="7\n")[
                "tokens"
            ],
            7,
        )

    def test_a_bad_line_ends_it_and_what_was_before_stays(self) -> None:
        self.create(*SMALL, *ROOMY)
        finished = self.run_program(
            "ingest", "--job", self.job, "--lengths", "-", "--end-of-stream", "--json",
            stdin="5\n6\nx\n7\n",
        )  # fmt: skip
        self.assertEqual(finished.returncode, 2)
        self.assertIn("line 3: 'x'", finished.stderr)
        report = json.loads(finished.stdout)
        self.assertEqual(report["documents"], 2)
        self.assertFalse(report["ended"])
        self.assertEqual(self.describe()["streams"][0]["next_sequence"], 2)

    def test_json_lines_by_length_and_by_text(self) -> None:
        self.create(*SMALL, *ROOMY)
        lines = [{"length": 60, "id": 7}, {"text": "h\u00e9"}, {"length": 1}]
        stdin = "".join(json.dumps(line) + "\n" for line in lines)
        report = self.ingest("--jsonl", "-", "--end-of-stream", stdin=stdin)
        self.assertEqual(report["tokens"], 64)
        documents = {
            document["sequence"]: document
            for rank in ("0", "1")
            for step in self.follow("--dp-rank", rank)
            for micro_batch in step["micro_batches"]
            for document in micro_batch["documents"]
        }
        self.assertEqual([documents[i]["length"] for i in range(3)], [60, 3, 1])
        self.assertEqual([documents[i]["id"] for i in range(3)], [7, 1, 2])

    def test_a_pipe_is_sent_as_it_is_written(self) -> None:
        self.create("--window", "100", *ROOMY)
        follower = self.start("follow", "--job", self.job, "--dp-rank", "0", "--json")
        with self.start("ingest", "--job", self.job, "--lengths", "-") as sender:
            assert sender.stdin is not None
            for step in range(3):
                sender.stdin.write("60\n40\n")
                sender.stdin.flush()
                self.assertEqual(json.loads(read_line(follower.stdout))["step"], step)
            sender.send_signal(signal.SIGINT)
            self.assertEqual(sender.wait(), 130)
        follower.send_signal(signal.SIGTERM)
        _, errors = follower.communicate()
        self.assertEqual((follower.returncode, errors), (143, ""))


class FollowTest(ServerTest):
    def check_form(self, step: dict[str, Any], rank: int, with_slices: bool) -> None:
        self.assertEqual(list(step), STEP_KEYS)
        self.assertEqual(step["dp_rank"], rank)
        self.assertRegex(step["digest"], HEX)
        keys = MICRO_BATCH_KEYS[:6] + ["slices"] * with_slices + MICRO_BATCH_KEYS[6:]
        for i, micro_batch in enumerate(step["micro_batches"]):
            self.assertEqual(list(micro_batch), keys)
            self.assertEqual(micro_batch["index"], 2 * rank + i)
            self.assertRegex(micro_batch["digest"], HEX)
            self.assertIn(
                micro_batch["sharding"], ["per_sequence", "per_document", "contiguous"]
            )
            for document in micro_batch["documents"]:
                self.assertEqual(list(document), DOCUMENT_KEYS)
            self.assertEqual(
                micro_batch["tokens"],
                sum(d["length"] for d in micro_batch["documents"]),
            )

    def test_every_document_reaches_one_rank_and_every_token_one_cp_rank(self) -> None:
        self.create(*SMALL, *ROOMY, "--streams", "web")
        self.ingest(
            "--stream", "web", "--lengths", "-", "--end-of-stream", stdin=numbers(1, 99)
        )
        seen: list[int] = []
        digests = []
        for rank in (0, 1):
            parts = [
                self.follow("--dp-rank", str(rank), "--cp-rank", str(cp))
                for cp in (0, 1)
            ]
            self.assertEqual(
                [[s["step"] for s in part] for part in parts],
                [list(range(len(parts[0])))] * 2,
            )
            digests.append([step["digest"] for step in parts[0]])
            for steps in zip(*parts, strict=True):
                self.check_form(steps[0], rank, with_slices=True)
                for both in zip(*(s["micro_batches"] for s in steps), strict=True):
                    self.check_slices(both)
                    seen += [d["sequence"] for d in both[0]["documents"]]
        self.assertEqual(sorted(seen), list(range(99)))
        self.assertEqual(digests[0], digests[1])
        self.assertEqual(digests[0][-1], self.describe()["digest"])

    def check_slices(self, ranks: tuple[dict[str, Any], ...]) -> None:
        """The CP ranks' slices of one micro-batch cover its tokens once."""
        tokens = sorted(
            (piece["document"], token)
            for micro_batch in ranks
            for piece in micro_batch["slices"]
            for token in range(piece["begin"], piece["end"])
        )
        documents = ranks[0]["documents"]
        self.assertEqual(
            tokens,
            [(i, t) for i, d in enumerate(documents) for t in range(d["length"])],
        )

    def test_only_durable_marks_let_steps_go(self) -> None:
        self.create(*SMALL, *ROOMY, "--max-steps-ahead", "3")
        self.ingest("--lengths", "-", "--end-of-stream", stdin=numbers(1, 99))
        for ack in ("received", "none"):
            steps = self.follow("--dp-rank", "0", "--ack", ack, "--steps", "3")
            self.assertEqual([step["step"] for step in steps], [0, 1, 2])
        self.assertEqual(self.describe()["durable_steps_per_rank"], [0, 0])
        one = json.loads(
            self.succeed(
                "step", "--job", self.job, "--step", "2", "--dp-rank", "0", "--json"
            )
        )
        self.check_form(one, 0, with_slices=False)
        self.assertEqual(one, steps[2])
        ranks = [
            self.start("follow", "--job", self.job, "--dp-rank", rank, "--ack",
                       "durable", "--json")
            for rank in ("0", "1")
        ]  # fmt: skip
        outputs = [steps_of(rank.communicate()[0]) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        self.assertEqual(len(outputs[0]), self.describe()["next_step"])
        self.assertEqual(self.describe()["durable_steps"], len(outputs[0]))
        self.assertTrue(self.describe()["drained"])
        step = ["step", "--job", self.job, "--dp-rank", "0", "--step", "0"]
        self.assertIn("oldest kept", self.refused(3, *step))

    def test_some_steps_for_people(self) -> None:
        self.create(*SMALL, *ROOMY)
        self.ingest("--lengths", "-", stdin=numbers(1, 99))
        text = self.succeed(
            "follow", "--job", self.job, "--dp-rank", "1", "--steps", "2"
        )
        self.assertIn("step 1 (full_batch): DP rank 1 has 2 of 4 micro-batches", text)
        self.assertIn("####", text)
        begun = self.follow("--dp-rank", "0", "--from-step", "4", "--steps", "1")
        self.assertEqual([step["step"] for step in begun], [4])

    def test_a_newer_shape_or_subscription_ends_it(self) -> None:
        self.create(*SMALL, *ROOMY)
        self.ingest("--lengths", "-", stdin=numbers(1, 99))
        flags = ["follow", "--job", self.job, "--dp-rank", "0", "--json"]
        claimed = [*flags, "--subscriber", "me"]
        with self.start(*claimed) as older, self.start(*flags) as other:
            for process in (older, other):
                read_line(process.stdout)
            self.succeed(*claimed, "--steps", "1")
            self.assertEqual(older.wait(), 3)
            self.assertRegex(older.communicate()[1], r"\Aevenpackctl: [^\n]+\n\Z")
            self.succeed("jobs", "update", self.job, "--cp", "4")
            self.assertEqual(other.wait(), 3)

    def test_what_is_refused_says_why(self) -> None:
        self.create(*SMALL)
        follow = ["follow", "--job", self.job]
        self.assertIn("--dp-rank is missing", self.refused(2, *follow))
        self.assertIn(
            "'all'", self.refused(2, *follow, "--dp-rank", "0", "--ack", "all")
        )
        self.refused(2, *follow, "--dp-rank", "2")
        self.refused(3, "follow", "--job", "no-such-job", "--dp-rank", "0")
        self.refused(
            3, "step", "--job", self.job, "--dp-rank", "0", "--step", "0"
        )  # fmt: skip

    def test_the_given_lengths_come_to_the_digest_of_pack(self) -> None:
        shape = ["--window", "131072", "--max-length", "196608"]
        policy = ["--policy", "wlb", "--queue-thresholds", "49152,98304"]
        packed = json.loads(
            self.succeed(
                "pack", "--lengths", LENGTHS, "--micro-batches", "4", *shape, *policy,
                "--json",
            )
        )  # fmt: skip
        self.create("--dp", "2", "--micro-batches", "2", "--cp", "2", *shape, *policy)
        ranks = [
            self.start("follow", "--job", self.job, "--dp-rank", rank, "--ack",
                       "durable", "--json")
            for rank in ("0", "1")
        ]  # fmt: skip
        report = self.ingest("--lengths", LENGTHS, "--end-of-stream")
        self.assertEqual(report["documents"], packed["documents_in"])
        for rank in ranks:
            steps = steps_of(rank.communicate()[0])
            self.assertEqual(rank.returncode, 0)
            self.assertEqual(steps[-1]["digest"], packed["digest"])


if __name__ == "__main__":
    del ServerTest  # It has no tests of its own.
    unittest.main()
