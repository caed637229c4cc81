"""Jobs spread over three servers of one PostgreSQL database: found at any, moved."""

from __future__ import annotations

import signal
import time
import unittest

import grpc
import job_specs
import step_checks
from call_error import CallError, error_of
from child_process import wait_until
from evenpack.v1 import cost_pb2
from evenpack.v1 import cost_profile_pb2 as profiles
from evenpack.v1 import cost_profile_pb2_grpc as profile_rpc
from evenpack.v1 import packing_service_pb2 as api
from postgresql_server import PostgresqlServer
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

JOBS = [f"job-{i}" for i in range(6)]
# From a server's last sign of life until others lead its jobs, seconds.
FAIL_OVER = 5.0
RANKS = 2
STEPS_AHEAD = 8
COUNT = 2000
# So that nobody waits long for a server that is gone.
RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
]


def profile(name: str) -> profiles.CostProfile:
    """One that the server takes."""
    table = cost_pb2.KernelLatency(
        q_lens=[128, 256], kv_lens=[128, 256], slice_ns=[1000, 2000, 0, 3000]
    )
    return profiles.CostProfile(
        name=name,
        hardware="a machine",
        kernel="a kernel",
        heads=profiles.AttentionHeads(query_heads=4, kv_heads=2, head_size=64),
        element_type=profiles.ELEMENT_TYPE_FLOAT32,
        forward=table,
        backward=table,
    )


class SpreadTest(unittest.TestCase):
    def setUp(self) -> None:
        self.database = self.enterContext(PostgresqlServer(durable=False))
        self.database.start()

    def start(self, count: int) -> list[ServerProcess]:
        target = self.database.target()
        return [
            self.enterContext(ServerProcess("--store", target)) for _ in range(count)
        ]

    def create(self, server: ServerProcess, *names: str) -> None:
        spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
        for name in names:
            server.stub.CreateJob(api.CreateJobRequest(name=name, spec=spec))

    def asked(self, server: ServerProcess, name: str) -> CallError | None:
        """How the server refuses to tell of a job; None where it does."""
        try:
            server.stub.GetJob(api.GetJobRequest(name=name))
        except grpc.RpcError as error:
            return error_of(error)
        return None

    def leader(self, servers: list[ServerProcess], name: str) -> ServerProcess | None:
        """The one that tells of the job."""
        answers = [self.asked(server, name) for server in servers]
        told = [server for server, no in zip(servers, answers, strict=True) if not no]
        for no in answers:
            if no is not None:
                self.assertIn(no.reason, ("LED_ELSEWHERE", "NO_LEADER"), no.message)
        # One that handed the job over while others were asked has told of it as well.
        for before in told[:-1]:
            self.assertIsNotNone(self.asked(before, name))
        return told[-1] if told else None

    def await_leader(self, servers: list[ServerProcess], name: str) -> ServerProcess:
        """Waits until one leads the job."""
        return wait_until(lambda: self.leader(servers, name), f"a leader of {name}")

    def await_shares(self, servers: list[ServerProcess], shares: list[int]) -> None:
        """Waits until each of them leads so many jobs."""

        def led() -> list[int]:
            return [int(server.metric("evenpack_jobs")) for server in servers]

        wait_until(lambda: sorted(led()) == sorted(shares), f"{shares} jobs each")

    def test_jobs_are_spread_and_found_at_any_server(self) -> None:
        [first] = self.start(1)
        self.create(first, *JOBS)
        servers = [first, *self.start(2)]
        self.await_shares(servers, [2, 2, 2])
        addresses = [server.grpc_address for server in servers]
        for name in JOBS:
            leader = self.leader(servers, name)
            self.assertIsNotNone(leader)
            for server in servers:
                if server is leader or leader is None:
                    continue
                no = self.asked(server, name)
                self.assertIsNotNone(no)
                if no is not None:
                    where = {"job": name, "address": leader.grpc_address}
                    self.assertEqual((no.reason, no.metadata), ("LED_ELSEWHERE", where))
                    self.assertIsNone(no.retry_seconds)
                with self.assertRaises(grpc.RpcError) as taken:
                    self.create(server, name)
                self.assertEqual(error_of(taken.exception).reason, "JOB_EXISTS")
        for server in servers:
            listed = server.stub.ListJobs(api.ListJobsRequest())
            here = [job.name for job in listed.jobs]
            there = {place.name: place.address for place in listed.led_elsewhere}
            self.assertEqual(sorted([*here, *there]), JOBS)
            others = {*addresses} - {server.grpc_address}
            self.assertEqual({*there.values()}, others)
        missing = self.asked(servers[2], "none")
        self.assertEqual(missing and missing.reason, "JOB_NOT_FOUND")

    def test_a_job_and_a_profile_are_known_to_all_at_once(self) -> None:
        servers = self.start(2)
        for i in range(20):
            self.create(servers[i % 2], f"new-{i}")
            told = self.asked(servers[(i + 1) % 2], f"new-{i}")
            self.assertEqual(told and told.reason, "LED_ELSEWHERE")
        one, two = (
            profile_rpc.CostProfileServiceStub(server.channel) for server in servers
        )
        one.PutCostProfile(profiles.PutCostProfileRequest(profile=profile("p")))
        got = two.GetCostProfile(profiles.GetCostProfileRequest(name="p"))
        self.assertEqual(got.profile.name, "p")

    def test_jobs_of_a_server_that_is_killed_are_led_by_others(self) -> None:
        servers = self.start(3)
        self.create(servers[0], *JOBS)
        self.await_shares(servers, [2, 2, 2])
        servers[1].kill()
        since = time.monotonic()
        rest = [servers[0], servers[2]]
        for name in JOBS:
            self.await_leader(rest, name)
        self.assertLess(time.monotonic() - since, FAIL_OVER)
        self.await_shares(rest, [3, 3])

    def undisturbed(self) -> dict[str, list[bytes]]:
        """What each rank gets from a server that stays."""
        with ServerProcess() as server:
            self.create(server, "job")
            ranks = self.start_ranks([server])
            self.start_producers([server]).await_all()
            followed = ranks.await_all()
        return {name: each.raw_steps for name, each in followed.items()}

    def start_ranks(
        self, servers: list[ServerProcess], *, paced: bool = False
    ) -> RankProcess:
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job="job", dp_rank=rank),
                reconnects=True,
                paced=paced,
            )
            for rank in range(RANKS)
        ]
        addresses = ",".join(server.grpc_address for server in servers)
        return self.enterContext(RankProcess(addresses, asked, RECONNECT))

    def start_producers(self, servers: list[ServerProcess]) -> ProducerProcess:
        streams = [
            Stream(name, "job", name, seed, COUNT, batch=64, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        addresses = ",".join(server.grpc_address for server in servers)
        return self.enterContext(ProducerProcess(addresses, streams, RECONNECT))

    def test_servers_are_replaced_one_by_one_and_nothing_is_lost(self) -> None:
        expected = self.undisturbed()
        servers = self.start(3)
        self.create(servers[0], "job", *JOBS)
        self.await_shares(servers, [2, 2, 3])
        ranks = self.start_ranks(servers, paced=True)
        producers = self.start_producers(servers)
        for taken in range(1, 4):
            ranks.allow(5 * taken)
            ranks.await_steps("0", 5 * taken)
            leader = self.await_leader(servers, "job")
            leader.signal(signal.SIGTERM)
            self.assertEqual(leader.wait(), 0)
            self.assertIn("job handed over job=job to=", leader.stderr())
            flags = ("--store", self.database.target())
            again = ServerProcess(*flags, listen=leader.grpc_address)
            servers[servers.index(leader)] = self.enterContext(again)
            self.await_leader(servers, "job")
        ranks.allow(None)
        sent = producers.await_all()
        followed = ranks.await_all()
        for each in sent.values():
            self.assertEqual(
                (each.error, each.next_sequence, each.ended), (None, COUNT, True)
            )
        every = [step for rank in followed.values() for step in rank.steps]
        streams = [(seed, COUNT) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, streams)
        for name, steps in expected.items():
            self.assertEqual(followed[name].raw_steps, steps)


if __name__ == "__main__":
    unittest.main()
