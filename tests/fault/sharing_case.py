"""Several jobs of servers that share them, with the clients of each."""

from __future__ import annotations

import itertools
import random
import time
import unittest
from dataclasses import dataclass, field

import grpc
import job_specs
import kill_history
import local_client
import step_checks
from child_process import DEADLINE, wait_until
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from leader_channel import LeaderChannel
from mortal_server import RECONNECT, Position
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

JOBS = ("job-0", "job-1", "job-2")
RANKS = 2
STEPS_AHEAD = 8
MOST_STEPS = 4
DOCUMENTS_A_STEP = 40
# One whose ranks take a step so often, seconds, from those that they have prefetched.
TRAINED = "trained"
INTERVAL = 0.1
# Longer than jobs are without a leader whom clients have found.
CUSHION = round(8 / INTERVAL)
# From a server's last sign of life until another leads its jobs, seconds.
FAIL_OVER = 5.0
# So that a server that stands still is left within two seconds.
OPTIONS = [
    *RECONNECT,
    ("grpc.keepalive_time_ms", 1000),
    ("grpc.keepalive_timeout_ms", 1000),
    ("grpc.http2.max_pings_without_data", 0),
]
FLAGS = ("--min-ping-seconds", "0")


@dataclass
class Clients:
    """Of one job."""

    ranks: RankProcess
    producers: ProducerProcess
    # Documents of each stream.
    count: int
    # Steps that ranks may take; None: they have a pace of their own.
    allowed: int | None = 0
    positions: list[Position] = field(default_factory=list)


class SharingCase(unittest.TestCase):
    """Give `begin` the servers, then let jobs make progress between faults."""

    def setUp(self) -> None:
        """Nothing runs yet."""
        self.random = random.Random(7)
        self.servers: list[ServerProcess] = []
        self.clients: dict[str, Clients] = {}

    def create_jobs(self) -> None:
        """Made by the first of the servers, led by any."""
        self.addresses = ",".join(each.grpc_address for each in self.servers)
        self.leader = self.enterContext(LeaderChannel(self.addresses, OPTIONS))
        for job in JOBS:
            self.create(job, STEPS_AHEAD)

    def create(self, job: str, steps_ahead: int) -> None:
        """At the first of the servers."""
        spec = job_specs.small_spec(steps_ahead=steps_ahead)
        self.servers[0].stub.CreateJob(api.CreateJobRequest(name=job, spec=spec))

    def begin(self, moves: int) -> None:
        """Starts clients with enough documents for so many moves."""
        self.count = DOCUMENTS_A_STEP * (moves * MOST_STEPS + 2 * STEPS_AHEAD)
        self.clients = {job: self.start_clients(job) for job in JOBS}

    def begin_training(self, seconds: float) -> None:
        """A further job, for so long; returns when its trainers have prefetched."""
        self.create(TRAINED, CUSHION + STEPS_AHEAD)
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job=TRAINED, dp_rank=rank, credits=CUSHION),
                reconnects=True,
                interval=INTERVAL,
            )
            for rank in range(RANKS)
        ]
        ranks = self.enterContext(RankProcess(self.addresses, asked, OPTIONS))
        steps = CUSHION + round(seconds / INTERVAL)
        count = DOCUMENTS_A_STEP * steps
        producers = self.start_producers(TRAINED, self.addresses, count)
        for rank in range(RANKS):
            ranks.await_steps(f"{rank}", CUSHION)
        self.clients[TRAINED] = Clients(ranks, producers, count, allowed=None)

    def leader_of(self, job: str) -> str:
        """The address at which a job is led."""

        def of_leader(channel: grpc.Channel) -> str:
            stub: rpc.PackingServiceStub = rpc.PackingServiceStub(channel)
            at = time.monotonic_ns()
            # One that stands still doesn't answer.
            held = stub.GetJob(api.GetJobRequest(name=job), timeout=0.3).job
            self.clients[job].positions.append(Position(at, held))
            return self.leader.address

        end = time.monotonic() + DEADLINE
        while True:
            try:
                return self.leader.call(of_leader)
            except grpc.RpcError as error:
                silent = error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
                if not silent or time.monotonic() > end:
                    raise
                self.leader.turn(error)

    def places(self) -> dict[str, str]:
        """Where each job is led."""
        return {job: self.leader_of(job) for job in self.clients}

    def await_led_by_others(self, victim: str, jobs: list[str], since: float) -> float:
        """Waits until none of the jobs is led there; seconds since then."""
        wait_until(
            lambda: all(self.leader_of(job) != victim for job in jobs),
            f"{jobs} elsewhere",
        )
        return time.monotonic() - since

    def start_clients(self, job: str) -> Clients:
        """The ranks and the producers of one."""
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job=job, dp_rank=rank),
                reconnects=True,
                paced=True,
            )
            for rank in range(RANKS)
        ]
        ranks = self.enterContext(RankProcess(self.addresses, asked, OPTIONS))
        producers = self.start_producers(job, self.addresses, self.count)
        return Clients(ranks, producers, self.count)

    def start_producers(self, job: str, addresses: str, count: int) -> ProducerProcess:
        """Of so many documents of each stream."""
        streams = [
            Stream(name, job, name, seed, count, batch=64, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        return self.enterContext(ProducerProcess(addresses, streams, OPTIONS))

    def make_progress(self) -> None:
        """Each job's ranks take some steps; not all are awaited."""
        for clients in self.clients.values():
            if clients.allowed is None:
                continue
            steps = self.random.randint(1, MOST_STEPS)
            rank = f"{self.random.randrange(RANKS)}"
            awaited = clients.allowed + self.random.randint(1, steps)
            clients.allowed += steps
            clients.ranks.allow(clients.allowed)
            clients.ranks.await_steps(rank, awaited)

    def undisturbed(self) -> dict[str, list[bytes]]:
        """What each rank gets from a server that stays."""
        with ServerProcess(http_listen="") as server:
            spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
            local_client.create(server, JOBS[0], spec)
            asked = [
                subscription(f"{rank}", api.Subscribe(job=JOBS[0], dp_rank=rank))
                for rank in range(RANKS)
            ]
            ranks = self.enterContext(RankProcess(server.grpc_address, asked))
            self.start_producers(JOBS[0], server.grpc_address, self.count).await_all()
            followed = ranks.await_all()
        return {name: each.raw_steps for name, each in followed.items()}

    def check_job(self, clients: Clients) -> dict[str, list[bytes]]:
        """All of its clients come to their end; what its ranks got."""
        followed = clients.ranks.await_all()
        self.assertEqual([each.error for each in followed.values()], [None] * RANKS)
        sent = clients.producers.await_all()
        history = [*clients.producers.history, *clients.ranks.history]
        kill_history.check(history, clients.positions)
        for each in sent.values():
            self.assertIsNone(each.error)
            self.assertEqual((each.next_sequence, each.ended), (clients.count, True))
        every = [step for rank in followed.values() for step in rank.steps]
        streams = [(seed, clients.count) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, streams)
        return {name: each.raw_steps for name, each in followed.items()}

    def finish(self) -> None:
        """All jobs come to their end, as if nothing had happened."""
        for clients in self.clients.values():
            clients.ranks.allow(None)
        got = {job: self.check_job(each) for job, each in self.clients.items()}
        expected = self.undisturbed()
        for job in JOBS:
            self.assertEqual(got[job], expected, job)

    def check_training(self) -> str:
        """After `finish`: nobody waited for a step. What was seen."""
        trained = self.clients[TRAINED]
        longest = 0.0
        for name, followed in trained.ranks.followed.items():
            self.assertEqual(followed.waits, [], f"rank {name}")
            came = [
                told.at
                for told in trained.ranks.history
                if (told.client, told.what) == (name, "step")
            ]
            longest = max(longest, *(b - a for a, b in itertools.pairwise(came)))
        return f"no trainer waited, {longest / 1e9:.1f} s at most without a new step"
