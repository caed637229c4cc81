"""A server over PostgreSQL whose database crashes, hangs, is full, or is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock
from collections.abc import Callable
from pathlib import Path

import documents
import grpc
import job_specs
import kill_history
import local_client
import step_checks
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from listening_process import ANY_PORT
from mortal_server import RECONNECT, Position
from postgresql_server import PASSWORD, SECRET_USER, PostgresqlServer
from producer import Stream
from server_process import PROGRAM, ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

LIBRARY = Path(os.environ["EVENPACK_FULL_DISK_LIBRARY"])
RANKS = 2
STEPS_AHEAD = 8
DOCUMENTS_A_STEP = 40
CRASHES = 4
STEPS_BETWEEN = 10
# Microseconds.
SLOW_COMMIT = 100_000


class DatabaseTest(unittest.TestCase):
    def setUp(self) -> None:
        database = PostgresqlServer(durable=True, preload=LIBRARY)
        self.database = self.enterContext(database)
        self.database.start()
        self.positions: list[Position] = []

    def start_server(self) -> ServerProcess:
        flags = ("--store", self.database.target())
        return self.enterContext(ServerProcess(*flags))

    def note_position(self, server: ServerProcess) -> None:
        """What the server knows of the job, once it can read it."""

        def answer() -> Position | None:
            at = time.monotonic_ns()
            try:
                return Position(at, local_client.get_job(server, "job"))
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
                self.assertTrue(server.runs(), server.stderr())
                return None

        self.positions.append(wait_until(answer, "the job"))

    def check_history(self, events: list[Callable[[ServerProcess], None]]) -> None:
        """Each comes after some progress; all documents are in exactly one step."""
        steps = STEPS_BETWEEN * len(events)
        count = DOCUMENTS_A_STEP * (steps + 2 * STEPS_AHEAD)
        server = self.start_server()
        address = server.grpc_address
        spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
        local_client.create(server, "job", spec)
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job="job", dp_rank=rank),
                reconnects=True,
                paced=True,
            )
            for rank in range(RANKS)
        ]
        ranks = self.enterContext(RankProcess(address, asked, RECONNECT))
        streams = [
            Stream(name, "job", name, seed, count, batch=64, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        producers = self.enterContext(ProducerProcess(address, streams, RECONNECT))
        for number, event in enumerate(events):
            first = STEPS_BETWEEN * number
            ranks.allow(first + STEPS_BETWEEN)
            ranks.await_steps("0", first + STEPS_BETWEEN // 2)
            event(server)
            self.note_position(server)
        ranks.allow(None)
        for each in producers.await_all().values():
            self.assertEqual((each.next_sequence, each.ended), (count, True))
        followed = ranks.await_all()
        kill_history.check([*producers.history, *ranks.history], self.positions)
        every = [step for rank in followed.values() for step in rank.steps]
        sent = [(seed, count) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, sent)
        step_checks.check_ranks_agree([each.steps for each in followed.values()])
        self.assertEqual(server.terminate(), 0)

    def crash(self, _: ServerProcess) -> None:
        """The database dies, and is started again."""
        self.database.stop("immediate")
        self.database.start()

    def hang(self, server: ServerProcess) -> None:
        """The database stands still until the server has noticed."""
        before = server.stderr().count("database lost")
        self.database.signal(signal.SIGSTOP)
        try:
            wait_until(
                lambda: server.stderr().count("database lost") > before, "a notice"
            )
        finally:
            self.database.signal(signal.SIGCONT)

    def slow_down(self, _: ServerProcess) -> None:
        """From now on each commit takes SLOW_COMMIT at least."""
        self.database.sql("ALTER SYSTEM SET commit_siblings = 0")
        self.database.sql(f"ALTER SYSTEM SET commit_delay = {SLOW_COMMIT}")
        self.database.sql("SELECT pg_reload_conf()")

    def test_a_database_that_crashes_loses_nothing(self) -> None:
        self.check_history([self.crash] * CRASHES)

    def test_a_database_that_hangs_is_waited_for(self) -> None:
        self.check_history([self.hang])

    def test_a_database_that_is_slow_is_waited_for(self) -> None:
        self.check_history([self.slow_down])

    def test_a_full_disk_refuses_and_goes_on_when_there_is_room(self) -> None:
        server = self.start_server()
        local_client.create(server, "job", job_specs.small_spec(roomy=True))
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
        server.kill()
        with ServerProcess("--store", self.database.target()) as other:
            held = local_client.get_job(other, "job")
            self.assertEqual(held.streams[0].next_sequence, accepted + 500)

    def test_while_it_is_away_callers_are_told_at_once(self) -> None:
        server = self.start_server()
        local_client.create(server, "job", job_specs.small_spec())
        self.database.stop("fast")
        wait_until(lambda: "database lost" in server.stderr(), "a notice")
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.create(server, "more", job_specs.small_spec())
        error = error_of(caught.exception)
        self.assertEqual((error.code, error.reason), ("UNAVAILABLE", "STORE_FAILED"))
        self.assertIn("the database can't be reached", error.message)
        self.database.start()
        wait_until(lambda: "database reached again" in server.stderr(), "a notice")
        local_client.create(server, "more", job_specs.small_spec())

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
