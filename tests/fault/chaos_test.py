"""Clients whose calls are delayed, held and reset on their way to the server.

The real clients go through chaos_proxy.py: evenpackctl as producers and ranks, beside
ranks in Python. Each document is in exactly one step, each rank has each step once, and
all is as it is without faults. A unary call whose answer was lost is carried out once.
  chaos_test.py [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import documents
import job_specs
import local_client
import step_checks
from chaos_proxy import ChaosProxy, Fault, Injection, Plan, seeded_plan
from child_process import ChildProcess
from complaints import complaints
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import step_pb2
from server_process import ServerProcess
from worker_process import Followed, RankProcess, subscription

PROGRAM = os.environ["EVENPACKCTL"]
# DP ranks that evenpackctl follows, and those that rank.py does.
CONTROL_RANKS = (0, 1)
PYTHON_RANKS = (2, 3)
DOCUMENTS = 6000
# Few, so that each step takes a message each way.
STEPS_AHEAD = 4
# Of the plan: each has every fault once.
ROUNDS = 8
SEED = 11
OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
]


@dataclass(frozen=True)
class Outcome:
    """What the ranks of a job got, and what its producers were told."""

    # Each step as `evenpackctl follow --json` prints it, by DP rank.
    lines: dict[int, list[str]]
    python: dict[int, Followed]
    sent: list[dict[str, Any]]


def step_of(line: str) -> step_pb2.Step:
    """A printed step, as far as step_checks looks at it."""
    printed = json.loads(line)
    step = step_pb2.Step(
        index=printed["step"],
        dp_rank=printed["dp_rank"],
        digest=bytes.fromhex(printed["digest"]),
    )
    for each in printed["micro_batches"]:
        micro_batch = step.micro_batches.add(index=each["index"], tokens=each["tokens"])
        held = micro_batch.documents
        for document in each["documents"]:
            held.stream.append(job_specs.STREAMS.index(document["stream"]))
            held.sequence.append(document["sequence"])
            held.offset.append(document["offset"])
            held.length.append(document["length"])
            whole = documents.length_of(held.stream[-1], document["sequence"])
            held.document_length.append(whole)
    return step


class ChaosTest(unittest.TestCase):
    rounds = ROUNDS

    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def lengths_of(self, seed: int) -> Path:
        """A file with a stream's lengths."""
        path = self.directory / f"{seed}.txt"
        lengths = (documents.length_of(seed, i) for i in range(DOCUMENTS))
        path.write_text("".join(f"{length}\n" for length in lengths))
        return path

    def program(self, address: str, *arguments: str) -> ChildProcess:
        command = [PROGRAM, *arguments, "--server", address, "--json"]
        return self.enterContext(ChildProcess(command))

    def lines_of(self, process: ChildProcess) -> list[str]:
        """All that it prints, to its good end."""
        lines = []
        while (line := process.next_line()) is not None:
            lines.append(line)
        self.assertEqual((process.wait(), complaints(process.stderr())), (0, []))
        return lines

    def run_job(self, job: str, address: str) -> Outcome:
        """A job from its first document to its last step."""
        ranks = len(CONTROL_RANKS) + len(PYTHON_RANKS)
        spec = job_specs.small_spec(data=ranks, steps_ahead=STEPS_AHEAD)
        local_client.create(self.server, job, spec)
        follow = ("follow", "--job", job, "--ack", "durable", "--dp-rank")
        followers = {
            rank: self.program(address, *follow, f"{rank}") for rank in CONTROL_RANKS
        }
        asked = [
            subscription(
                f"{rank}", api.Subscribe(job=job, dp_rank=rank), reconnects=True
            )
            for rank in PYTHON_RANKS
        ]
        python = self.enterContext(RankProcess(address, asked, OPTIONS))
        ingest = ("ingest", "--job", job, "--batch", "16", "--end-of-stream")
        producers = [
            self.program(
                *(address, *ingest, "--stream", stream),
                *("--lengths", str(self.lengths_of(seed))),
            )
            for seed, stream in enumerate(job_specs.STREAMS)
        ]
        return Outcome(
            {rank: self.lines_of(process) for rank, process in followers.items()},
            {int(name): each for name, each in python.await_all().items()},
            [json.loads("".join(self.lines_of(process))) for process in producers],
        )

    def check_exactly_once(self, outcome: Outcome) -> None:
        """Every document is in one step, and every rank has every step."""
        ranks = [[step_of(line) for line in outcome.lines[i]] for i in CONTROL_RANKS]
        ranks += [outcome.python[i].steps for i in PYTHON_RANKS]
        for steps in ranks:
            self.assertEqual([step.index for step in steps], [*range(len(ranks[0]))])
            digests = [step.digest for step in steps]
            self.assertEqual(digests, [step.digest for step in ranks[0]])
        every = [step for steps in ranks for step in steps]
        streams = [(seed, DOCUMENTS) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, streams)

    def check_undisturbed(self, outcome: Outcome, expected: Outcome) -> None:
        """All is as it was without faults."""
        self.assertEqual(outcome.lines, expected.lines)
        for rank, followed in outcome.python.items():
            self.assertIsNone(followed.error)
            self.assertEqual(followed.raw_steps, expected.python[rank].raw_steps)
        for told, wanted in zip(outcome.sent, expected.sent, strict=True):
            for name in ("documents", "tokens", "next_sequence", "ended"):
                self.assertEqual(told[name], wanted[name])

    def test_streams_through_faults_are_those_without(self) -> None:
        expected = self.run_job("undisturbed", self.server.grpc_address)
        self.check_exactly_once(expected)
        left = self.rounds
        injected: Counter[Fault] = Counter()
        while left > 0:
            rounds = min(left, ROUNDS)
            plan = seeded_plan(SEED + left, rounds)
            left -= rounds
            with ChaosProxy(self.server.grpc_address, plan) as proxy:
                outcome = self.run_job(f"job-{left}", proxy.address)
            injected += proxy.injected
            with self.subTest(left=left):
                self.check_exactly_once(outcome)
                self.check_undisturbed(outcome, expected)
                self.assertEqual({*proxy.injected}, {*Fault}, proxy.injected)
        print(dict(injected), file=sys.stderr)

    def call(self, plan: Plan, *arguments: str) -> subprocess.CompletedProcess[str]:
        """evenpackctl through a proxy that breaks it as planned."""
        with ChaosProxy(self.server.grpc_address, plan) as proxy:
            finished = subprocess.run(
                [PROGRAM, *arguments, "--server", proxy.address],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
        wanted = Counter(each.fault for planned in plan for each in planned)
        self.assertEqual(proxy.injected, wanted, finished.stderr)
        return finished

    def check_call(self, plan: Plan, *arguments: str) -> None:
        finished = self.call(plan, *arguments)
        said = complaints(finished.stderr)
        self.assertEqual((finished.returncode, said), (0, []), plan)

    def test_unary_calls_are_carried_out_once(self) -> None:
        for number, fault in enumerate(
            (Fault.BEFORE_REQUEST, Fault.BEFORE_RESPONSE, Fault.IN_RESPONSE)
        ):
            name = f"job-{number}"
            with self.subTest(fault=fault):
                once = [Injection(fault)]
                twice = [once, once]
                self.check_call(twice, "jobs", "create", name, "--window", "4096")
                # The first call reads the job.
                second = [[Injection(fault, 2)], once]
                self.check_call(second, "jobs", "update", name, "--dp", "2")
                job = local_client.get_job(self.server, name)
                self.assertEqual((job.epoch, job.spec.parallelism.data), (1, 2))
                self.check_call([once], "jobs", "delete", name)
                listed = self.server.stub.ListJobs(api.ListJobsRequest())
                self.assertNotIn(name, [each.name for each in listed.jobs])

    def test_a_lost_answer_hides_no_other_ones_job(self) -> None:
        """A name that was taken before is no success of this call."""
        create = ("jobs", "create", "taken", "--window")
        self.check_call([], *create, "4096")
        lost = [[Injection(Fault.BEFORE_RESPONSE)]]
        finished = self.call(lost, *create, "8192")
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn("has another spec", finished.stderr)
        job = local_client.get_job(self.server, "taken")
        self.assertEqual(job.spec.window, 4096)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options, rest = parser.parse_known_args()
    ChaosTest.rounds = options.rounds
    unittest.main(argv=[sys.argv[0], *rest])
