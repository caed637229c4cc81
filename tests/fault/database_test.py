"""Servers that share a PostgreSQL that crashes, hangs, is slow, full, or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import documents
import grpc
import job_specs
import local_client
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from leader_channel import LeaderChannel
from listening_process import ANY_PORT
from postgresql_server import PASSWORD, SECRET_USER, PostgresqlServer
from server_process import PROGRAM, ServerProcess
from sharing_case import FLAGS, SharingCase

LIBRARY = Path(os.environ["EVENPACK_FULL_DISK_LIBRARY"])
SERVERS = 3
CRASHES = 4
# Microseconds.
SLOW_COMMIT = 100_000


class SharedDatabaseTest(SharingCase):
    """What becomes of jobs of three servers."""

    def setUp(self) -> None:
        super().setUp()
        database = PostgresqlServer(durable=True, preload=LIBRARY)
        self.database = self.enterContext(database)
        self.database.start()
        for _ in range(SERVERS):
            flags = ("--store", self.database.target(), *FLAGS)
            server = ServerProcess(*flags, http_listen="")
            self.servers.append(self.enterContext(server))
        self.create_jobs()

    def crash(self) -> None:
        """The database dies, and is started again."""
        self.database.stop("immediate")
        self.database.start()

    def restart(self) -> None:
        """The database ends in order, and is started again once all miss it."""
        before = self.losses_of_all()
        self.database.stop("fast")
        self.await_noticed(before)
        self.database.start()

    def hang(self) -> None:
        """The database stands still until all have noticed, which is beyond a lease."""
        before = self.losses_of_all()
        self.database.signal(signal.SIGSTOP)
        try:
            self.await_noticed(before)
        finally:
            self.database.signal(signal.SIGCONT)

    def slow_down(self) -> None:
        """From now on each commit takes SLOW_COMMIT at least."""
        self.database.sql("ALTER SYSTEM SET commit_siblings = 0")
        self.database.sql(f"ALTER SYSTEM SET commit_delay = {SLOW_COMMIT}")
        self.database.sql("SELECT pg_reload_conf()")

    def losses(self) -> list[int]:
        """How often each server missed its database."""
        return [each.stderr().count("database lost") for each in self.servers]

    def losses_of_all(self) -> list[int]:
        """The same, once all have it: who has lost it misses it no second time."""

        def have_all() -> bool:
            reached = [
                each.stderr().count("database reached again") for each in self.servers
            ]
            return self.losses() == reached

        wait_until(have_all, "all are connected")
        return self.losses()

    def await_noticed(self, before: list[int]) -> None:
        """Waits until each misses it once more."""

        def have_noticed() -> bool:
            pairs = zip(self.losses(), before, strict=True)
            return all(now > then for now, then in pairs)

        wait_until(have_noticed, "notices")

    def test_there_is_one_history_whatever_becomes_of_it(self) -> None:
        events = [*[self.crash] * CRASHES, self.restart, self.hang, self.slow_down]
        self.begin(len(events) + 1)
        for event in events:
            self.make_progress()
            event()
            self.places()
        self.make_progress()
        self.finish()
        for server in self.servers:
            self.assertEqual(server.terminate(), 0, server.stderr())


class DatabaseTest(unittest.TestCase):
    def setUp(self) -> None:
        database = PostgresqlServer(durable=True, preload=LIBRARY)
        self.database = self.enterContext(database)
        self.database.start()

    def start_server(self) -> ServerProcess:
        flags = ("--store", self.database.target())
        return self.enterContext(ServerProcess(*flags))

    def job(self, channel: grpc.Channel) -> job_pb2.Job:
        """What its leader holds of it."""
        stub: rpc.PackingServiceStub = rpc.PackingServiceStub(channel)
        return stub.GetJob(api.GetJobRequest(name="job")).job

    def test_a_full_disk_refuses_and_goes_on_when_there_is_room(self) -> None:
        server = self.start_server()
        local_client.create(server, "job", job_specs.small_spec(roomy=True))
        others = [self.start_server() for _ in range(SERVERS - 1)]
        stream = job_specs.STREAMS[0]
        self.database.fill_disk(full=True)
        accepted = 0
        with self.assertRaises(grpc.RpcError) as caught:
            # A page is soon full of records.
            for first in range(0, 1 << 20, 500):
                batch = api.IngestRequest(batch=documents.batch_of(0, first, 500))
                answers = local_client.ingest(
                    server, local_client.opening("job", stream), batch
                )
                accepted = answers[-1].next_sequence
        error = error_of(caught.exception)
        self.assertEqual(
            (error.code, error.reason), ("RESOURCE_EXHAUSTED", "STORE_FULL")
        )
        held = local_client.get_job(server, "job")
        self.assertEqual(held.streams[0].next_sequence, accepted)
        self.database.fill_disk(full=False)
        batch = api.IngestRequest(batch=documents.batch_of(0, accepted, 500))
        answers = local_client.ingest(
            server, local_client.opening("job", stream), batch
        )
        self.assertEqual(answers[-1].next_sequence, accepted + 500)
        # Others could renew their leases meanwhile, and one of them leads it next.
        server.kill()
        with LeaderChannel(",".join(each.grpc_address for each in others)) as leader:
            held = leader.call(self.job)
        self.assertEqual(held.streams[0].next_sequence, accepted + 500)

    def test_while_it_is_away_callers_are_told_at_once(self) -> None:
        server = self.start_server()
        local_client.create(server, "job", job_specs.small_spec())
        self.database.stop("fast")
        wait_until(lambda: "database lost" in server.stderr(), "a notice")
        refused = "database not reached error=\"store: the database can't be reached: "
        wait_until(lambda: refused in server.stderr(), "the reason")
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.create(server, "more", job_specs.small_spec())
        error = error_of(caught.exception)
        self.assertEqual((error.code, error.reason), ("UNAVAILABLE", "STORE_FAILED"))
        self.assertIn("the database can't be reached", error.message)
        self.database.start()
        wait_until(lambda: "database reached again" in server.stderr(), "a notice")
        local_client.create(server, "more", job_specs.small_spec())

    def follow(
        self, server: ServerProcess, *messages: api.StreamStepsRequest
    ) -> tuple[list[int], str]:
        """The steps that one gets, and why no more come."""
        steps = []
        with local_client.open_steps(server, *messages) as call:
            try:
                while True:
                    answer = call.receive()
                    if answer.HasField("step"):
                        steps.append(answer.step.index)
            except grpc.RpcError as caught:
                return steps, error_of(caught).reason

    def test_what_is_committed_is_served_while_it_is_away(self) -> None:
        server = self.start_server()
        local_client.create(server, "job", job_specs.small_spec(roomy=True))
        local_client.fill(server, "job", job_specs.STREAMS, 2000, ends=False)
        steps = local_client.steps_of(server, "job")
        self.assertGreater(len(steps), 10)
        self.database.stop("fast")
        wait_until(lambda: "database lost" in server.stderr(), "a notice")
        going_on = local_client.subscribing(
            "job",
            from_step=1,
            last_digest=steps[0].digest,
            sends_durable=True,
            credits=len(steps),
        )
        mark = api.StreamStepsRequest(durable=api.Durable(step=0))
        # The first is one whose mark is refused, the second comes after it was.
        for messages in ((going_on, mark), (going_on,)):
            self.assertEqual(
                self.follow(server, *messages),
                (list(range(1, len(steps))), "STORE_FAILED"),
            )
        asked = api.GetStepRequest(job="job", step=3)
        self.assertEqual(server.stub.GetStep(asked).step.digest, steps[3].digest)
        # It is not known here whether there is more by now.
        going_on.subscribe.from_step = len(steps)
        going_on.subscribe.last_digest = steps[-1].digest
        self.assertEqual(self.follow(server, going_on), ([], "STORE_FAILED"))
        self.database.start()
        wait_until(lambda: "database reached again" in server.stderr(), "a notice")
        self.assertEqual(local_client.acknowledge(server, "job", 0, 2), [1, 1])

    def refusal(self, store: str, **variables: str) -> str:
        """What a server that doesn't start says."""
        ended = subprocess.run(
            [PROGRAM, "--listen", ANY_PORT, "--http-listen", "", "--store", store],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={**os.environ, **variables},
        )
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(ended.stdout, "")
        return ended.stderr

    def test_passwords_are_taken_and_never_told(self) -> None:
        self.database.sql(f"CREATE ROLE {SECRET_USER} LOGIN PASSWORD '{PASSWORD}'")
        self.database.sql(f"GRANT CREATE ON SCHEMA public TO {SECRET_USER}")
        where = f"127.0.0.1:{self.database.port}/postgres"
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        file = directory / "passwords"
        file.write_text(f"*:*:*:*:{PASSWORD}\n")
        file.chmod(0o600)
        with_password = f"postgresql://{SECRET_USER}:{PASSWORD}@{where}"
        without = f"postgresql://{SECRET_USER}@{where}"
        for target, variables in (
            (with_password, {}),
            (without, {"PGPASSWORD": PASSWORD}),
            (without, {"PGPASSFILE": str(file)}),
        ):
            with (
                unittest.mock.patch.dict(os.environ, variables),
                ServerProcess("--store", target) as server,
            ):
                self.assertEqual(server.terminate(), 0)
                self.assertIn(f"user={SECRET_USER}", server.stderr())
                self.assertNotIn(PASSWORD, server.stderr())
        wrong = with_password.replace(PASSWORD, "wrong-guess")
        said = self.refusal(wrong)
        self.assertIn("password authentication failed", said)
        self.assertNotIn("wrong-guess", said)
        self.database.stop()
        self.assertNotIn(PASSWORD, self.refusal(with_password))
        self.assertIn("can't be reached", self.refusal(without))


if __name__ == "__main__":
    unittest.main()
