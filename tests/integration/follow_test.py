"""Clients that follow a job from server to server of one PostgreSQL database."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import grpc
import job_specs
import step_checks
from agent_process import AgentProcess
from child_process import ChildProcess, wait_until
from complaints import complaints
from evenpack.v1 import packing_service_pb2 as api
from postgresql_server import PostgresqlServer
from producer import Stream
from role_callers import CallerCertificates, hash_of, tls_flags
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

PROGRAM = os.environ["EVENPACKCTL"]
# Micro-batches of 8192 tokens, four a step; some documents are outliers.
WINDOW = ["--window", "8192", "--policy", "wlb", "--queue-thresholds", "4096"]
PARALLEL = ["--dp", "2", "--micro-batches", "2"]
DOCUMENTS = 3000
RANKS = 2


def lengths() -> list[int]:
    """Of the documents: many short ones and a few as long as the window."""
    draw = random.Random(10)
    return [min(8192, int(draw.lognormvariate(5.5, 1.3)) + 1) for _ in range(DOCUMENTS)]


class FollowTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start(self, *flags: str) -> None:
        """Three servers of one database."""
        database = self.enterContext(PostgresqlServer(durable=False))
        database.start()
        store = ["--store", database.target()]
        self.servers = [
            self.enterContext(ServerProcess(*store, *flags)) for _ in range(3)
        ]
        self.addresses = ",".join(server.grpc_address for server in self.servers)

    def leader(self) -> ServerProcess:
        """The one that leads the only job."""

        def leading() -> list[ServerProcess]:
            running = [server for server in self.servers if server.runs()]
            return [server for server in running if server.metric("evenpack_jobs") == 1]

        return wait_until(leading, "a leader")[0]

    def replace_leader(self) -> None:
        """It hands its job over and ends."""
        self.assertEqual(self.leader().terminate(), 0)

    def kill_leader(self) -> None:
        self.leader().kill()

    def report(self, *arguments: str) -> dict[str, Any]:
        """The JSON that a good run of evenpackctl prints."""
        finished = subprocess.run(
            [PROGRAM, *arguments, "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        said = complaints(finished.stderr)
        self.assertEqual((finished.returncode, said), (0, []), arguments)
        told: dict[str, Any] = json.loads(finished.stdout)
        return told

    def ingest(self, count: int, *more: str) -> None:
        """Sends the first of the documents, those that the stream has among them."""
        file = self.folder / "lengths.txt"
        file.write_text("".join(f"{each}\n" for each in lengths()[:count]))
        at = ("--server", self.addresses)
        sent = self.report("ingest", "--job", "run", "--lengths", str(file), *more, *at)
        self.assertEqual(sent["next_sequence"], count)

    def next_digest(self, follower: ChildProcess) -> str | None:
        """Of its next step; None at its good end."""
        line = follower.next_line()
        if line is not None:
            return str(json.loads(line)["digest"])
        self.assertEqual((follower.wait(), complaints(follower.stderr())), (0, []))
        return None

    def test_evenpackctl_sees_nothing_of_a_move(self) -> None:
        self.start()
        at = ["--server", self.addresses]
        self.report("jobs", "create", "run", *PARALLEL, *WINDOW, *at)
        followers = [
            self.enterContext(
                ChildProcess(
                    [
                        *(PROGRAM, "follow", "--job", "run", "--ack", "durable"),
                        *("--dp-rank", f"{rank}", "--json", *at),
                    ]
                )
            )
            for rank in range(RANKS)
        ]
        got: list[list[str]] = [[] for _ in followers]
        for part, move in enumerate((self.replace_leader, self.kill_leader), 1):
            self.ingest(DOCUMENTS * part // 3)
            for digests, follower in zip(got, followers, strict=True):
                digest = self.next_digest(follower)
                assert digest is not None
                digests.append(digest)
            move()
        self.ingest(DOCUMENTS, "--end-of-stream")
        for digests, follower in zip(got, followers, strict=True):
            while (digest := self.next_digest(follower)) is not None:
                digests.append(digest)
        # The same documents packed offline: the same history.
        whole = ["--lengths", str(self.folder / "lengths.txt")]
        packed = self.report("pack", *whole, "--micro-batches", "4", *WINDOW)
        parts = ("steps", "drain_steps", "backlog_steps")
        steps = sum(packed[part] for part in parts)
        self.assertEqual([len(digests) for digests in got], [steps] * RANKS)
        self.assertEqual({digests[-1] for digests in got}, {packed["digest"]})
        job = self.report("jobs", "describe", "run", *at)
        self.assertEqual((job["drained"], job["durable_steps"]), (True, steps))

    def start_secured(self) -> list[str]:
        """Servers that ask for TLS and a token; evenpackctl's flags for those."""
        certificates = CallerCertificates(self.folder)
        token, roles = self.folder / "ops.token", self.folder / "roles.yaml"
        token.write_text("the-operators-token\n")
        known = hash_of("the-operators-token")
        grant = {"role": "operator", "jobs": ["*"], "tokens": [f"ops:{known}"]}
        # JSON is YAML.
        roles.write_text(json.dumps({"grants": [grant]}))
        self.start(*tls_flags(certificates), "--roles", str(roles))
        return ["--tls-ca", str(certificates.pem("ca")), "--token-file", str(token)]

    def test_any_server_leads_to_all_jobs_also_over_tls_with_a_token(self) -> None:
        identity = self.start_secured()
        names = [f"job-{i}" for i in range(6)]
        first = ["--server", self.servers[0].grpc_address, *identity]
        for name in names:
            self.report("jobs", "create", name, *PARALLEL, *WINDOW, *first)
        wait_until(
            lambda: all(each.metric("evenpack_jobs") == 2 for each in self.servers),
            "two jobs each",
        )
        for server in self.servers:
            at = ["--server", server.grpc_address, *identity]
            listed = self.report("jobs", "list", *at)
            self.assertEqual([job["name"] for job in listed["jobs"]], names)
            self.assertEqual(listed["broken_jobs"], [])
            elsewhere = [job["address"] for job in listed["jobs"] if "address" in job]
            others = {*self.addresses.split(",")} - {server.grpc_address}
            self.assertEqual((len(elsewhere), {*elsewhere}), (4, others))
            for name in names:
                told = self.report("jobs", "describe", name, *at)
                self.assertEqual(told["name"], name)

    def listed(self, agent: AgentProcess) -> api.ListJobsResponse | None:
        """An agent's list; None where its call was lost with a server that is gone."""
        try:
            return agent.stub.ListJobs(api.ListJobsRequest())
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return None

    def test_ranks_behind_an_agent_see_nothing_of_a_move(self) -> None:
        self.start()
        spec = job_specs.small_spec(steps_ahead=8)
        agent = self.enterContext(AgentProcess(self.addresses))
        agent.stub.CreateJob(api.CreateJobRequest(name="job", spec=spec))
        asked = [
            subscription(f"{rank}", api.Subscribe(job="job", dp_rank=rank), paced=True)
            for rank in range(RANKS)
        ]
        ranks = self.enterContext(RankProcess(agent.grpc_address, asked))
        streams = [
            Stream(name, "job", name, seed, DOCUMENTS, batch=64, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        producers = self.enterContext(ProducerProcess(agent.grpc_address, streams))
        for taken, move in ((5, self.replace_leader), (10, self.kill_leader)):
            ranks.allow(taken)
            ranks.await_steps("0", taken)
            move()
        listed = wait_until(lambda: self.listed(agent), "a server that lists jobs")
        [place] = listed.led_elsewhere or [None]
        self.assertEqual(place.address if place else "", "")
        ranks.allow(None)
        for sent in producers.await_all().values():
            self.assertEqual((sent.error, sent.next_sequence), (None, DOCUMENTS))
        followed = ranks.await_all()
        for each in followed.values():
            self.assertEqual((each.error, each.reconnects), (None, 0))
        every = [step for rank in followed.values() for step in rank.steps]
        step_checks.check_exactly_once(
            every, [(seed, DOCUMENTS) for seed in range(len(job_specs.STREAMS))]
        )


if __name__ == "__main__":
    unittest.main()
