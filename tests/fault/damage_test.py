"""Servers over a store file that is damaged, taken, or not theirs."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

import grpc
import job_specs
import local_client
from call_error import error_of
from evenpack.v1 import packing_service_pb2 as api
from listening_process import ANY_PORT
from server_process import PROGRAM, ServerProcess


class DamageTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.path = Path(directory) / "store"
        self.flags = ("--store", f"sqlite:{self.path}")

    def make_jobs(self, *names: str) -> dict[str, bytes]:
        """Jobs with some documents; the digest of each."""
        with ServerProcess(*self.flags) as server:
            for name in names:
                local_client.create(server, name, job_specs.small_spec(roomy=True))
                local_client.fill(server, name, job_specs.STREAMS, 500)
            digests = {
                name: local_client.get_job(server, name).digest for name in names
            }
            self.assertEqual(server.terminate(), 0)
        return digests

    def change(self, statement: str) -> None:
        database = sqlite3.connect(self.path)
        with database:
            database.execute(statement)
        database.close()

    def refusal(self, *flags: str) -> str:
        """What a server that doesn't start says."""
        ended = subprocess.run(
            [PROGRAM, "--listen", ANY_PORT, "--http-listen", "", *flags],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(ended.stdout, "")
        self.assertNotIn("terminate called", ended.stderr)
        return ended.stderr

    def test_jobs_are_there_again_after_a_drain_and_after_a_kill(self) -> None:
        digests = self.make_jobs("a", "b")
        for number in (signal.SIGKILL, signal.SIGTERM):
            with ServerProcess(*self.flags) as server:
                for name, digest in digests.items():
                    job = local_client.get_job(server, name)
                    self.assertEqual(job.digest, digest)
                    self.assertTrue(job.streams[0].ended)
                server.signal(number)
                server.wait()

    def test_a_damaged_job_stops_alone(self) -> None:
        digests = self.make_jobs("bad", "good")
        self.change(
            "UPDATE records SET bytes = zeroblob(9) WHERE place = (1 << 40) + 2"
        )
        with ServerProcess(*self.flags) as server:
            self.assertEqual(
                local_client.get_job(server, "good").digest, digests["good"]
            )
            with self.assertRaises(grpc.RpcError) as caught:
                local_client.get_job(server, "bad")
            error = error_of(caught.exception)
            self.assertEqual((error.code, error.reason), ("DATA_LOSS", "STORE_DAMAGED"))
            self.assertIn("record 2 is damaged", error.message)
            listed = server.stub.ListJobs(api.ListJobsRequest())
            self.assertEqual([job.name for job in listed.jobs], ["good"])
            self.assertEqual([job.name for job in listed.broken_jobs], ["bad"])
            self.assertIn("record 2", listed.broken_jobs[0].error)
            text = subprocess.run(
                [os.environ["EVENPACKCTL"], "jobs", "list"],
                env={**os.environ, "EVENPACK_SERVER": server.grpc_address},
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            self.assertIn("bad is broken: store: ", text)
            # Its name is free once it is deleted.
            server.stub.DeleteJob(api.DeleteJobRequest(name="bad"))
            local_client.create(server, "bad", job_specs.small_spec())
            self.assertIn("job=bad", server.stderr())

    def test_one_server_alone_has_a_file(self) -> None:
        with ServerProcess(*self.flags):
            self.assertIn("in use by another process", self.refusal(*self.flags))

    def test_what_it_can_not_use_is_named(self) -> None:
        self.make_jobs("a")
        self.change("PRAGMA user_version = 9")
        self.assertIn("format version 9 is newer", self.refusal(*self.flags))
        self.path.write_bytes(b"x" * 5000)
        self.assertIn("not a database", self.refusal(*self.flags))
        missing = self.path.parent / "none" / "store"
        self.assertIn(
            "there is no directory", self.refusal("--store", f"sqlite:{missing}")
        )


if __name__ == "__main__":
    unittest.main()
