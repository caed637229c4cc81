"""A server that is killed again and again, under producers and ranks that go on.

Each document is in exactly one step, nothing that was acknowledged is lost, and the
steps are byte for byte those of a server that nobody killed.
  kill_test.py [--kills N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import job_specs
import local_client
import step_checks
from evenpack.v1 import packing_service_pb2 as api
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

RANKS = 2
# Steps between two kills, at most; and documents of a stream that one step takes.
MOST_STEPS = 8
DOCUMENTS_A_STEP = 40
# So that nobody waits long for a server that is back.
RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
]
KILLS = 50


class KillTest(unittest.TestCase):
    kills = KILLS

    def setUp(self) -> None:
        self.random = random.Random(5)
        self.documents = self.kills * MOST_STEPS * DOCUMENTS_A_STEP
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start_server(self, listen: str = "127.0.0.1:0") -> ServerProcess:
        store = f"sqlite:{self.directory / 'store'}"
        return ServerProcess("--store", store, listen=listen)

    def start_ranks(self, address: str) -> RankProcess:
        asked = [
            subscription(
                f"{rank}", api.Subscribe(job="job", dp_rank=rank), reconnects=True
            )
            for rank in range(RANKS)
        ]
        return self.enterContext(RankProcess(address, asked, RECONNECT))

    def start_producers(self, address: str) -> ProducerProcess:
        streams = [
            Stream(name, "job", name, seed, self.documents, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        return self.enterContext(ProducerProcess(address, streams, RECONNECT))

    def undisturbed(self) -> dict[str, list[bytes]]:
        """What each rank gets from a server that stays."""
        with ServerProcess() as server:
            local_client.create(server, "job", job_specs.small_spec(steps_ahead=8))
            ranks = self.start_ranks(server.grpc_address)
            producers = self.start_producers(server.grpc_address)
            producers.await_all()
            return {
                name: followed.raw_steps for name, followed in ranks.await_all().items()
            }

    def test_nothing_is_lost_and_nothing_comes_twice(self) -> None:
        expected = self.undisturbed()
        server = self.start_server()
        address = server.grpc_address
        local_client.create(server, "job", job_specs.small_spec(steps_ahead=8))
        ranks = self.start_ranks(address)
        producers = self.start_producers(address)
        steps = 0
        for _ in range(self.kills):
            steps += self.random.randint(1, MOST_STEPS)
            ranks.await_steps(f"{self.random.randrange(RANKS)}", steps)
            server.kill()
            server.__exit__(None, None, None)
            server = self.start_server(address)
        sent = producers.await_all()
        followed = ranks.await_all()
        with server:
            self.assertEqual(server.terminate(), 0)
        verified = subprocess.run(
            [os.environ["EVENPACKCTL"], "verify", self.directory / "store", "--json"],
            check=True,
            capture_output=True,
        )
        (job,) = json.loads(verified.stdout)["jobs"]
        self.assertEqual((job["ok"], job["name"]), (True, "job"))
        self.assertEqual(job["next_step"], len(expected["0"]))

        for name, each in followed.items():
            self.assertIsNone(each.error)
            self.assertEqual(each.raw_steps, expected[name])
            self.assertGreater(each.reconnects, self.kills / 2)
        every = [step for each in followed.values() for step in each.steps]
        streams = [(seed, self.documents) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, streams)
        for told in sent.values():
            self.assertIsNone(told.error)
            self.assertEqual((told.next_sequence, told.ended), (self.documents, True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=KILLS)
    options, rest = parser.parse_known_args()
    KillTest.kills = options.kills
    unittest.main(argv=[sys.argv[0], *rest])
