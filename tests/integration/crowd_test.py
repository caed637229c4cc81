"""A thousand subscribers of one job: all get every step; /metrics stays small."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import unittest
from pathlib import Path

import job_specs
import local_client
from child_process import ChildProcess
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess

SUBSCRIBERS = 1000
RANKS = 2
DOCUMENTS = 400
# docs/metrics.md: series of one job.
SERIES_BUDGET = 600


class CrowdTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        spec = job_specs.small_spec(data=RANKS, roomy=True)
        local_client.create(self.server, "job", spec)

    def series(self) -> set[str]:
        """The series of the job."""
        lines = self.server.metrics().splitlines()
        return {line.rpartition(" ")[0] for line in lines if 'job="job"' in line}

    def expected(self, rank: int) -> tuple[int, str]:
        """How many steps a rank has, and the hash of what it must have got."""
        steps = local_client.steps_of(self.server, "job", dp_rank=rank)
        last = api.Drained(steps=len(steps), digest=steps[-1].digest)
        responses = [
            *(api.StreamStepsResponse(step=step) for step in steps),
            api.StreamStepsResponse(drained=last),
        ]
        raw = b"".join(each.SerializeToString() for each in responses)
        return len(steps), hashlib.sha256(raw).hexdigest()

    def check_metrics(self) -> None:
        linted = subprocess.run(
            ["promtool", "check", "metrics"],
            input=self.server.metrics(),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((linted.returncode, linted.stdout, linted.stderr), (0, "", ""))

    def test_all_get_every_step(self) -> None:
        alone = self.series()
        program = Path(__file__).resolve().with_name("crowd.py")
        crowd = self.enterContext(
            ChildProcess(
                [
                    *(sys.executable, "-B", str(program)),
                    *(self.server.grpc_address, "job", f"{RANKS}", f"{SUBSCRIBERS}"),
                ]
            )
        )
        self.assertEqual(crowd.next_line(), "subscribed", crowd.stderr())
        self.assertEqual(
            self.server.metric('evenpack_job_subscribers{job="job"}'), SUBSCRIBERS
        )
        local_client.fill(self.server, "job", job_specs.STREAMS, DOCUMENTS)
        self.assertEqual(self.series(), alone)
        self.assertLess(len(alone), SERIES_BUDGET)
        self.check_metrics()

        expected = [self.expected(rank) for rank in range(RANKS)]
        self.assertGreater(expected[0][0], 5)
        for i in range(SUBSCRIBERS):
            rank = i % RANKS
            steps, content = expected[rank]
            self.assertEqual(crowd.next_line(), f"{rank} OK {steps} {content}")
        self.assertEqual(crowd.wait(), 0)
        delivered = 'evenpack_job_delivery_seconds_count{job="job"}'
        # Beside them, those that `expected` asked for.
        times = SUBSCRIBERS // RANKS + 1
        self.assertEqual(
            self.server.metric(delivered), times * sum(each[0] for each in expected)
        )
        self.check_metrics()


if __name__ == "__main__":
    unittest.main()
