"""A server that is killed and stays away, under trainers that take a step at a pace.

No trainer waits, none misses a step or has one twice, and the steps are those of a
server that nobody killed.
  outage_test.py [--away SECONDS] [--interval SECONDS]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import job_specs
import local_client
from child_process import ChildProcess
from evenpack.v1 import job_pb2
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess

TRAINER = os.environ["EVENPACK_PACED_TRAINER"]
RANKS = 2
# So that documents are there soon after the server is.
RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
]
# Of a stream, in a step.
DOCUMENTS_A_STEP = 20
# Steps that trainers have taken and not made durable, at most.
CHECKPOINT = 10
# Steps that are decided after the server is back.
REST = 100
# While the server starts and is found, seconds.
SLACK = 5.0


class Trainer(ChildProcess):
    """One rank's paced_trainer."""

    def __init__(self, address: str, rank: int, interval: float, buffered: int) -> None:
        """Starts it; it fetches so many steps before it takes one."""
        pace = f"{round(interval * 1000)}"
        super().__init__([TRAINER, address, "job", f"{rank}", pace, f"{buffered}"])
        self.digests: list[str] = []
        # Steps that were there, of each when it was taken, for the next to be.
        self.buffered: list[int] = []

    def await_filled(self) -> None:
        """Waits until it has fetched them."""
        line = self.next_line()
        if line is None or "filled" not in json.loads(line):
            raise AssertionError(f"'{line}' instead; {self.stderr()}")

    def begin(self) -> None:
        """Lets it take steps."""
        self.write_line("begin")

    def take(self) -> bool:
        """Its next step; False: it has had the last."""
        line = self.next_line()
        if line is None:
            return False
        said: dict[str, Any] = json.loads(line)
        if said["step"] != len(self.digests):
            raise AssertionError(f"step {said['step']} after {len(self.digests)} steps")
        self.digests.append(said["digest"])
        self.buffered.append(said["buffered"])
        return True

    def take_until(self, steps: int) -> None:
        """Waits until it has had so many steps."""
        while len(self.digests) < steps:
            if not self.take():
                raise AssertionError(f"the trainer ended early: {self.stderr()}")

    def take_all(self) -> None:
        """Waits for its good end."""
        while self.take():
            pass
        status = self.wait()
        if status != 0:
            raise AssertionError(f"exit status {status}: {self.stderr()}")


class OutageTest(unittest.TestCase):
    away = 3.0
    interval = 0.015

    def setUp(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.store = f"sqlite:{Path(directory) / 'store'}"
        self.steps_away = round(self.away / self.interval)
        self.cushion = round((self.away + SLACK) / self.interval)
        # The trainers' first steps, too.
        self.steps_ahead = self.cushion + 2 * CHECKPOINT
        self.documents = DOCUMENTS_A_STEP * (self.steps_ahead + REST)

    def spec(self) -> job_pb2.JobSpec:
        return job_specs.small_spec(data=RANKS, steps_ahead=self.steps_ahead)

    def start_producers(self, address: str) -> ProducerProcess:
        streams = [
            Stream(name, "job", name, seed, self.documents, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        return self.enterContext(ProducerProcess(address, streams, RECONNECT))

    def undisturbed(self) -> list[str]:
        """The digests of the steps that a server decides which stays."""
        with ServerProcess() as server:
            spec = job_specs.small_spec(
                data=RANKS, steps_ahead=4 * self.steps_ahead, roomy=True
            )
            local_client.create(server, "job", spec)
            self.start_producers(server.grpc_address).await_all()
            steps = local_client.steps_of(server, "job")
            return [step.digest.hex() for step in steps]

    def test_no_trainer_waits_while_the_server_is_away(self) -> None:
        server = ServerProcess("--store", self.store)
        address = server.grpc_address
        local_client.create(server, "job", self.spec())
        producers = self.start_producers(address)
        buffered = self.cushion + CHECKPOINT
        trainers = [
            self.enterContext(Trainer(address, rank, self.interval, buffered))
            for rank in range(RANKS)
        ]
        for trainer in trainers:
            trainer.await_filled()
        for trainer in trainers:
            trainer.begin()
        for trainer in trainers:
            trainer.take_until(1)
        server.kill()
        server.__exit__(None, None, None)
        before = [len(trainer.digests) + self.steps_away for trainer in trainers]
        for trainer, steps in zip(trainers, before, strict=True):
            trainer.take_until(steps)
        with ServerProcess("--store", self.store, listen=address):
            for trainer in trainers:
                trainer.take_all()
            producers.await_all()
        expected = self.undisturbed()
        # Some came after the server was back.
        self.assertGreater(len(expected), max(before) + self.cushion - self.steps_away)
        for trainer in trainers:
            self.assertEqual(trainer.digests, expected)
            # After each but the last there was another to take.
            self.assertGreater(min(trainer.buffered[:-1]), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--away", type=float, default=OutageTest.away)
    parser.add_argument("--interval", type=float, default=OutageTest.interval)
    options, rest = parser.parse_known_args()
    OutageTest.away = options.away
    OutageTest.interval = options.interval
    unittest.main(argv=[sys.argv[0], *rest])
