"""Memory that a large job took goes back to the system once the job is gone."""

from __future__ import annotations

import unittest

import job_specs
import local_client
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess

BATCH = 1000
# Of short documents, whose steps nobody marks.
DOCUMENTS = 500_000
# What they take at least, and what may be left of it: what the allocator keeps, and has
# in parts of pages.
TAKEN_BYTES = 100 << 20
LEFT_BYTES = 64 << 20


class MemoryTest(unittest.TestCase):
    def test_a_large_job_leaves_little_behind(self) -> None:
        server = self.enterContext(ServerProcess())
        spec = job_specs.small_spec(["web"], data=8, steps_ahead=1 << 20, roomy=True)
        before = server.resident_bytes()
        local_client.create(server, "large", spec)
        batches = [
            local_client.batch(first_sequence=first, length=[64] * BATCH)
            for first in range(0, DOCUMENTS, BATCH)
        ]
        local_client.ingest(server, local_client.opening("large", "web"), *batches)
        self.assertGreater(server.resident_bytes(), before + TAKEN_BYTES)
        server.stub.DeleteJob(api.DeleteJobRequest(name="large"))
        wait_until(
            lambda: server.resident_bytes() < before + LEFT_BYTES,
            "the job's memory is given back",
        )


if __name__ == "__main__":
    unittest.main()
