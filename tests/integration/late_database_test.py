"""A server that starts before its database does."""

from __future__ import annotations

import unittest

import job_specs
import local_client
from child_process import ChildProcess, wait_until
from listening_process import ANY_PORT
from postgresql_server import PostgresqlServer
from server_process import PROGRAM, ServerProcess

AWAY = "the store is away, and is tried again"


class LateDatabaseTest(unittest.TestCase):
    def test_it_waits_and_serves_once_the_database_does(self) -> None:
        with PostgresqlServer(durable=False) as database:
            flags = ("--store", database.target(), "--store-wait-seconds", "3600")
            command = [PROGRAM, "--listen", ANY_PORT, "--http-listen", ANY_PORT, *flags]
            with ChildProcess(command) as waiting:
                wait_until(lambda: AWAY in waiting.stderr(), "it is refused")
                database.start()
                self.assertIn("grpc listening on ", waiting.next_line() or "")
                self.assertEqual(waiting.stderr().count(AWAY), 1)
            # What it made of the database is whole.
            with ServerProcess("--store", database.target()) as server:
                local_client.create(server, "job", job_specs.small_spec())

    def test_it_ends_in_time_where_there_is_none(self) -> None:
        with PostgresqlServer(durable=False) as database:
            flags = ("--store", database.target(), "--store-wait-seconds", "1")
            with ChildProcess([PROGRAM, "--listen", ANY_PORT, *flags]) as waiting:
                self.assertEqual(waiting.wait(), 1)
                error = "evenpack-server: store: the database can't be reached"
                self.assertIn(error, waiting.stderr())


if __name__ == "__main__":
    unittest.main()
