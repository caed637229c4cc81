"""Servers over one PostgreSQL database, of which the leader is killed or stopped.

Another leads within five seconds, one that was stopped writes nothing when it goes on,
each document is in exactly one step, nothing that a client was told is taken back, and
the steps are byte for byte those of a server that nobody killed.
  lead_test.py [--rounds N]
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import unittest

import grpc
import job_specs
import kill_history
import local_client
import step_checks
from child_process import ChildProcess, wait_until
from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from listening_process import ANY_PORT
from mortal_server import RECONNECT, Position
from moving_front import MovingFront
from postgresql_server import PostgresqlServer
from producer import Stream
from server_process import PROGRAM, ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

RANKS = 2
STEPS_AHEAD = 8
MOST_STEPS = 8
DOCUMENTS_A_STEP = 40
ROUNDS = 5
# From a leader's last sign of life until another serves, seconds.
FAIL_OVER = 5.0


class SharingServer(ChildProcess):
    """A server over a database that others share."""

    def __init__(self, target: str) -> None:
        """Starts it; it serves once it leads."""
        addresses = ["--listen", ANY_PORT, "--http-listen", ""]
        super().__init__([PROGRAM, *addresses, "--store", target])

    def await_standby(self) -> None:
        """Waits until it knows that another leads."""
        wait_until(lambda: "waiting to lead" in self.stderr(), "a standby")

    def await_lead(self) -> str:
        """Waits until it serves; its address."""
        line = self.next_line() or ""
        prefix = "grpc listening on "
        if not line.startswith(prefix):
            raise AssertionError(f"'{line}' instead of '{prefix}'; {self.stderr()}")
        return line.removeprefix(prefix)


class LeadTest(unittest.TestCase):
    rounds = ROUNDS

    def setUp(self) -> None:
        self.random = random.Random(7)
        self.database = self.enterContext(PostgresqlServer(durable=True))
        self.database.start()
        self.front = self.enterContext(MovingFront())
        self.positions: list[Position] = []

    def start_server(self) -> SharingServer:
        return self.enterContext(SharingServer(self.database.target()))

    def stub_of(self, address: str) -> rpc.PackingServiceStub:
        channel = self.enterContext(open_channel(address, RECONNECT))
        return rpc.PackingServiceStub(channel)

    def note_position(self, address: str) -> None:
        """What the server that leads now knows of the job."""
        at = time.monotonic_ns()
        answer = self.stub_of(address).GetJob(api.GetJobRequest(name="job"))
        self.positions.append(Position(at, answer.job))

    def take_over(self, standby: SharingServer, since: float) -> str:
        """Waits until another serves, and lets clients know."""
        address = standby.await_lead()
        self.assertLess(time.monotonic() - since, FAIL_OVER)
        self.note_position(address)
        self.front.point_to(address)
        return address

    def commits(self) -> dict[str, int]:
        """The number of the last commit of each server that ever was."""
        rows = self.database.sql("SELECT server, commits FROM evenpack_servers")
        return {
            server: int(number)
            for server, _, number in (row.partition("|") for row in rows.splitlines())
        }

    def check_silent(self, leader: SharingServer, address: str, late: str) -> None:
        """It goes on, writes nothing of what it was asked meanwhile, and ends."""
        pid = f"/{leader.pid}/"
        before = {name: n for name, n in self.commits().items() if pid in name}
        self.assertEqual(len(before), 1)
        stub = self.stub_of(address)
        request = api.CreateJobRequest(name=late, spec=job_specs.small_spec())
        asked = stub.CreateJob.future(request)
        leader.signal(signal.SIGCONT)
        with self.assertRaises(grpc.RpcError) as caught:
            asked.result()
        # Cancelled, where it ends before it has answered.
        ended = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        self.assertIn(caught.exception.code(), ended)
        self.assertEqual(leader.wait(), 1)
        self.assertIn("another server leads", leader.stderr())
        after = {name: n for name, n in self.commits().items() if pid in name}
        self.assertEqual(after, before)
        late_jobs = self.database.sql(
            f"SELECT count(*) FROM evenpack_jobs WHERE name = '{late}'"
        )
        self.assertEqual(late_jobs, "0")

    def undisturbed(self, count: int) -> dict[str, list[bytes]]:
        """What each rank gets from a server that stays."""
        with ServerProcess() as server:
            spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
            local_client.create(server, "job", spec)
            ranks = self.start_ranks(server.grpc_address, paced=False)
            self.start_producers(server.grpc_address, count).await_all()
            followed = ranks.await_all()
        return {name: each.raw_steps for name, each in followed.items()}

    def start_ranks(self, address: str, *, paced: bool) -> RankProcess:
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job="job", dp_rank=rank),
                reconnects=True,
                paced=paced,
            )
            for rank in range(RANKS)
        ]
        return self.enterContext(RankProcess(address, asked, RECONNECT))

    def start_producers(self, address: str, count: int) -> ProducerProcess:
        streams = [
            Stream(name, "job", name, seed, count, batch=64, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        return self.enterContext(ProducerProcess(address, streams, RECONNECT))

    def check_steps(
        self, ranks: RankProcess, producers: ProducerProcess, count: int
    ) -> None:
        """All come to their end, with what they would have got from one server."""
        ranks.allow(None)
        sent = producers.await_all()
        followed = ranks.await_all()
        kill_history.check([*producers.history, *ranks.history], self.positions)
        for each in sent.values():
            self.assertIsNone(each.error)
            self.assertEqual((each.next_sequence, each.ended), (count, True))
        every = [step for rank in followed.values() for step in rank.steps]
        streams = [(seed, count) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, streams)
        for name, steps in self.undisturbed(count).items():
            self.assertEqual(followed[name].raw_steps, steps)

    def test_another_leads_and_the_stopped_one_writes_nothing(self) -> None:
        deaths = 2 * self.rounds
        count = DOCUMENTS_A_STEP * (deaths * MOST_STEPS + STEPS_AHEAD)
        leader = self.start_server()
        address = leader.await_lead()
        spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
        self.stub_of(address).CreateJob(api.CreateJobRequest(name="job", spec=spec))
        self.front.point_to(address)
        ranks = self.start_ranks(self.front.address, paced=True)
        producers = self.start_producers(self.front.address, count)
        taken = 0
        for death in range(deaths):
            standby = self.start_server()
            standby.await_standby()
            steps = self.random.randint(1, MOST_STEPS)
            ranks.allow(taken + steps)
            moment = taken + self.random.randint(1, steps)
            ranks.await_steps(f"{self.random.randrange(RANKS)}", moment)
            taken += steps
            since = time.monotonic()
            if death % 2 == 0:
                leader.kill()
                address = self.take_over(standby, since)
            else:
                leader.signal(signal.SIGSTOP)
                stopped = address
                address = self.take_over(standby, since)
                self.check_silent(leader, stopped, f"late-{death}")
            leader = standby
        self.check_steps(ranks, producers, count)
        leader.signal(signal.SIGTERM)
        self.assertEqual(leader.wait(), 0)

    def test_a_standby_leads_at_once_when_the_other_drains(self) -> None:
        leader = self.start_server()
        leader.await_lead()
        standby = self.start_server()
        standby.await_standby()
        leader.signal(signal.SIGTERM)
        self.assertEqual(leader.wait(), 0)
        since = time.monotonic()
        standby.await_lead()
        # Not when a lease expires.
        self.assertLess(time.monotonic() - since, 2.0)
        third = self.start_server()
        third.await_standby()
        third.signal(signal.SIGTERM)
        self.assertEqual(third.wait(), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options, rest = parser.parse_known_args()
    LeadTest.rounds = options.rounds
    unittest.main(argv=[sys.argv[0], *rest])
