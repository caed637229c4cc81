"""Servers that share the jobs of one PostgreSQL database, killed, stopped and drained.

Their jobs are led by others within five seconds, a server that was stopped writes none
of them when it goes on, trainers that prefetched do not wait, each document is in
exactly one step, nothing that a client was told is taken back, and the steps are byte
for byte those of a server that nobody killed.
  sharing_test.py [--events N]
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import time
import unittest
from collections import Counter

import grpc
from call_error import error_of
from evenpack.v1 import packing_service_pb2 as api
from lease_audit import LeaseAudit
from listening_process import ANY_PORT
from postgresql_server import PostgresqlServer
from server_process import ServerProcess
from sharing_case import FAIL_OVER, FLAGS, TRAINED, SharingCase

SERVERS = 3
EVENTS = 20
# Of one event, at most; beyond that trainers take what is left unseen.
SECONDS = 3.0


class SharingTest(SharingCase):
    events = EVENTS

    def setUp(self) -> None:
        super().setUp()
        self.database = self.enterContext(PostgresqlServer(durable=False))
        self.database.start()
        # Of application names.
        self.processes: dict[str, int] = {}
        self.took: dict[str, list[float]] = {}
        # To what a stopped server was asked for.
        self.answers: Counter[str] = Counter()
        for _ in range(SERVERS):
            self.servers.append(self.start_server())
        self.create_jobs()

    def start_server(self, listen: str = ANY_PORT) -> ServerProcess:
        name = f"server-{len(self.processes)}"
        target = f"{self.database.target()}?application_name={name}"
        server = ServerProcess("--store", target, *FLAGS, listen=listen, http_listen="")
        self.processes[name] = server.pid
        return self.enterContext(server)

    def kill(self, server: ServerProcess, jobs: list[str]) -> float:
        """SIGKILL; another server takes its place when its jobs are led."""
        since = time.monotonic()
        server.kill()
        took = self.await_led_by_others(server.grpc_address, jobs, since)
        self.replace(server)
        return took

    def drain(self, server: ServerProcess, jobs: list[str]) -> float:
        """SIGTERM: it hands its jobs over, and another server takes its place."""
        since = time.monotonic()
        server.signal(signal.SIGTERM)
        took = self.await_led_by_others(server.grpc_address, jobs, since)
        self.assertEqual(server.wait(), 0, server.stderr())
        self.replace(server)
        return took

    def stop(self, server: ServerProcess, jobs: list[str]) -> float:
        """SIGSTOP until others lead its jobs, then SIGCONT, with work that waited."""
        marks = [self.unsent_mark(job) for job in jobs if job != TRAINED]
        since = time.monotonic()
        server.signal(signal.SIGSTOP)
        asked = [server.stub.Acknowledge.future(mark) for mark in marks]
        took = self.await_led_by_others(server.grpc_address, jobs, since)
        server.signal(signal.SIGCONT)
        for each in asked:
            # Refused, unless it leads the job anew by then. The audit knows.
            try:
                each.result()
            except grpc.RpcError as error:
                self.answers[error_of(error).reason] += 1
            else:
                self.answers["taken"] += 1
        return took

    def unsent_mark(self, job: str) -> api.AcknowledgeRequest:
        """One that rank 0 sends when it may take another step."""
        clients = self.clients[job]
        step = len(clients.ranks.await_steps("0", clients.allowed or 0)) - 1
        return api.AcknowledgeRequest(job=job, dp_rank=0, step=step)

    def replace(self, server: ServerProcess) -> None:
        """A new one at the address of one that has ended."""
        place = self.servers.index(server)
        server.__exit__(None, None, None)
        self.servers[place] = self.start_server(server.grpc_address)

    def one_that_leads(self) -> tuple[ServerProcess, list[str]]:
        """Any of them, and what."""
        places = self.places()
        server = self.random.choice(
            [each for each in self.servers if each.grpc_address in places.values()]
        )
        return server, [job for job, at in places.items() if at == server.grpc_address]

    def report(self, refusals: int) -> str:
        """What was done, and measured."""
        lines = [
            f"{name}: {len(times)} times, jobs led elsewhere after "
            f"{statistics.median(times):.1f} s (median), {max(times):.1f} s at most"
            for name, times in self.took.items()
        ]
        asked = f"stopped servers answered {dict(self.answers)}"
        return "\n".join([*lines, f"{asked}; the database refused {refusals}"])

    def test_jobs_go_on_whatever_becomes_of_their_servers(self) -> None:
        audit = LeaseAudit(self.database)
        self.begin(self.events)
        self.begin_training(SECONDS * self.events)
        # What ends is started anew.
        kinds = [self.kill, self.drain, self.stop, self.drain]
        events = [kinds[i % len(kinds)] for i in range(self.events)]
        self.random.shuffle(events)
        for event in events:
            self.make_progress()
            server, jobs = self.one_that_leads()
            took = event(server, jobs)
            self.took.setdefault(event.__name__, []).append(took)
            self.assertLess(took, FAIL_OVER, event.__name__)
        refusals = audit.refusals()
        self.finish()
        audit.check(self.processes)
        print(f"{self.report(refusals)}\n{self.check_training()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=EVENTS)
    options, rest = parser.parse_known_args()
    SharingTest.events = options.events
    unittest.main(argv=[sys.argv[0], *rest])
