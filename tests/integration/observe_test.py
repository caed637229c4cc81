"""What observers see: the HTTP port's JSON beside the calls, and a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
from call_error import error_of
from child_process import DEADLINE, wait_until
from evenpack.v1 import observation_pb2 as observation
from evenpack.v1 import packing_service_pb2 as api
from google.protobuf import json_format
from server_process import ServerProcess

PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt")
DOCUMENTS = 4000
JOB = "run"
SHAPE = (
    *("--model", "7B", "--window", "131072", "--max-length", "196608"),
    *("--split-overlong", "true", "--micro-batches", "4", "--cp", "2"),
    *("--policy", "wlb", "--queue-thresholds", "49152,98304"),
)
ALTERNATE = b"\x1b[?1049h"
RESTORED = b"\x1b[?25h\x1b[?1049l"


class ObserveTest(unittest.TestCase):
    """A job that is fed real lengths, and that nobody follows."""

    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        self.run_program("jobs", "create", JOB, *SHAPE)
        lengths = LENGTHS.read_text(encoding="utf-8").split()[:DOCUMENTS]
        sending = ("ingest", "--job", JOB, "--lengths", "-")
        self.run_program(*sending, stdin="\n".join(lengths))
        # Its call may end a moment after it.
        wait_until(
            lambda: self.read(f"/api/v1/jobs/{JOB}")["producers"] == "0", "quiet"
        )

    def command(self, *arguments: str) -> list[str]:
        return [PROGRAM, *arguments, "--server", self.server.grpc_address]

    def run_program(self, *arguments: str, stdin: str = "") -> str:
        """Its standard output; it must succeed."""
        finished = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * DEADLINE,
        )
        self.assertEqual((finished.returncode, finished.stderr), (0, ""), arguments)
        return finished.stdout

    def read(self, path: str) -> dict[str, Any]:
        status, text = self.server.get(path)
        self.assertEqual(status, 200, text)
        told: dict[str, Any] = json.loads(text)
        return told

    def test_json_over_http_is_what_the_calls_tell(self) -> None:
        listed = api.ListJobsResponse()
        json_format.ParseDict(self.read("/api/v1/jobs?page_size=5"), listed)
        self.assertEqual([job.name for job in listed.jobs], [JOB])

        told = observation.ObserveJobResponse()
        json_format.ParseDict(self.read(f"/api/v1/jobs/{JOB}?steps=7"), told)
        asked = observation.ObserveJobRequest(job=JOB, steps=7)
        called = self.server.stub.ObserveJob(asked)
        for response in (told, called):
            for step in response.steps:
                self.assertGreater(step.age_seconds, 0)
                step.age_seconds = 0
        self.assertEqual(told, called)
        self.assertEqual(len(told.steps), 7)
        last = told.steps[-1].index
        self.assertEqual(last + 1, told.job.next_step)

        plan = observation.ObserveMicroBatchResponse()
        path = f"/api/v1/jobs/{JOB}/steps/{last}/micro-batches/3"
        json_format.ParseDict(self.read(path), plan)
        wanted = observation.ObserveMicroBatchRequest(job=JOB, step=last, micro_batch=3)
        self.assertEqual(plan, self.server.stub.ObserveMicroBatch(wanted))
        self.assertEqual(
            sum(rank.tokens for rank in plan.ranks), told.steps[-1].tokens[3]
        )

    def test_the_history_is_that_of_the_steps(self) -> None:
        told = self.server.stub.ObserveJob(
            observation.ObserveJobRequest(job=JOB, steps=240)
        )
        self.assertGreater(len(told.steps), 20)
        for index, observed in enumerate(told.steps):
            step = self.server.stub.GetStep(
                api.GetStepRequest(job=JOB, step=index)
            ).step
            self.assertEqual(observed.index, index)
            held = step.micro_batches
            self.assertEqual([each.tokens for each in held], [*observed.tokens])
            self.assertEqual(
                [each.workload_ns for each in held], [*observed.workload_ns]
            )
            mean = sum(observed.workload_ns) / 4
            self.assertAlmostEqual(observed.imbalance, max(observed.workload_ns) / mean)
        totals = told.totals
        self.assertGreater(
            totals.original_weighted_imbalance, totals.weighted_imbalance
        )
        last = told.steps[-1]
        self.assertEqual([*last.queue_tokens], [queue.tokens for queue in told.queues])
        waiting = sum(last.queue_documents) + last.left_over_documents
        self.assertEqual(waiting, told.job.waiting_documents)

    def test_errors_over_http_are_those_of_the_calls(self) -> None:
        status, text = self.server.get("/api/v1/jobs/none")
        self.assertEqual(status, 404)
        with self.assertRaises(grpc.RpcError) as caught:
            self.server.stub.ObserveJob(observation.ObserveJobRequest(job="none"))
        called = error_of(caught.exception)
        told = json.loads(text)
        self.assertEqual(told["message"], called.message)
        self.assertEqual(told["details"][0]["reason"], "JOB_NOT_FOUND")
        for path, expected in (
            (f"/api/v1/jobs/{JOB}/steps/999999/micro-batches/0", 404),
            (f"/api/v1/jobs/{JOB}/steps/0/micro-batches/4", 400),
            (f"/api/v1/jobs/{JOB}?steps=-1", 400),
            ("/api/v1/jobs?wrong=1", 400),
            ("/api/v1/other", 404),
        ):
            self.assertEqual(self.server.get(path)[0], expected, path)

    def test_top_without_a_terminal_is_plain_text_once(self) -> None:
        self.assertIn(f"\n{JOB} ", self.run_program("top"))
        frame = self.run_program("top", "--job", JOB)
        self.assertNotIn("\x1b", frame)
        told = self.read(f"/api/v1/jobs/{JOB}")
        self.assertIn(f"{told['totals']['weightedImbalance']:.3f} over", frame)
        self.assertLessEqual(max(len(line) for line in frame.splitlines()), 80)
        line = self.run_program("top", "--job", JOB, "--once", "--json")
        self.assertEqual(line.count("\n"), 1)
        self.assertEqual(json.loads(line)["job"]["name"], JOB)

    @contextmanager
    def on_terminal(
        self, *arguments: str
    ) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        """The program on a terminal of 100 columns and 30 rows, and what it writes."""
        leader, follower = pty.openpty()
        size = struct.pack("HHHH", 30, 100, 0, 0)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, size)
        before = termios.tcgetattr(follower)
        process = subprocess.Popen(
            self.command(*arguments),
            stdin=follower,
            stdout=follower,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        try:
            os.set_blocking(leader, False)
            yield process, leader
            self.assertEqual(termios.tcgetattr(follower), before)
        finally:
            process.kill()
            process.communicate()
            os.close(follower)
            os.close(leader)

    def test_top_on_a_terminal_goes_on_until_interrupted(self) -> None:
        with self.on_terminal("top", "--job", JOB, "--interval", "0.1") as (
            top,
            leader,
        ):
            shown = bytearray()

            def shows(text: bytes) -> bool:
                with suppress(BlockingIOError):
                    shown.extend(os.read(leader, 1 << 16))
                return text in shown

            wait_until(lambda: shows(b"micro-batch"), "a frame")
            self.assertTrue(shown.startswith(ALTERNATE))
            self.assertIn("█".encode(), shown)
            steps = int(self.read(f"/api/v1/jobs/{JOB}")["job"]["nextStep"])
            lengths = "\n".join(["60000"] * 100)
            feed = ("ingest", "--job", JOB, "--lengths", "-")
            resume = ("--from-sequence", str(DOCUMENTS))
            self.run_program(*feed, *resume, stdin=lengths)
            more = int(self.read(f"/api/v1/jobs/{JOB}")["job"]["nextStep"])
            self.assertGreater(more, steps)
            wait_until(lambda: shows(f"{more} steps".encode()), "the new steps")
            top.send_signal(signal.SIGINT)
            wait_until(lambda: shows(RESTORED), "the screen as it was")
            self.assertEqual(top.wait(DEADLINE), 0)
            self.assertTrue(shown.endswith(RESTORED))


if __name__ == "__main__":
    unittest.main()
