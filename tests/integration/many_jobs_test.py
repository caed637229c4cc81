"""Many jobs at once: exactly once each, and the same steps whatever the timing."""

from __future__ import annotations

import unittest

import job_specs
import step_checks
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import step_pb2
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

JOBS = 20
DOCUMENTS = 400
RANKS = 2


def seeds_of(job: int) -> list[int]:
    """Seeds of the job's streams."""
    return [2 * job, 2 * job + 1]


def streams_of(prefix: str, which: int, batch: int) -> list[Stream]:
    """One stream of every job."""
    return [
        Stream(
            f"{job}",
            f"{prefix}-{job}",
            job_specs.STREAMS[which],
            seeds_of(job)[which],
            DOCUMENTS + job,
            batch=batch,
        )
        for job in range(JOBS)
    ]


class ManyJobsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())

    def create(self, prefix: str) -> None:
        for job in range(JOBS):
            spec = job_specs.small_spec(roomy=True)
            request = api.CreateJobRequest(name=f"{prefix}-{job}", spec=spec)
            self.server.stub.CreateJob(request)

    def start_rank(self, prefix: str, rank: int) -> RankProcess:
        asked = [
            subscription(f"{job}", api.Subscribe(job=f"{prefix}-{job}", dp_rank=rank))
            for job in range(JOBS)
        ]
        process = RankProcess(self.server.grpc_address, asked)
        return self.enterContext(process)

    def start_producer(self, prefix: str, which: int, batch: int) -> ProducerProcess:
        streams = streams_of(prefix, which, batch)
        process = ProducerProcess(self.server.grpc_address, streams)
        return self.enterContext(process)

    def check(self, ranks: list[RankProcess]) -> dict[str, bytes]:
        """Checks every job's steps; the last digest of each."""
        last = {}
        followed = [process.await_all() for process in ranks]
        for job in range(JOBS):
            parts = [each[f"{job}"] for each in followed]
            steps: list[list[step_pb2.Step]] = [part.steps for part in parts]
            self.assertEqual([part.error for part in parts], [None] * RANKS)
            for each in steps:
                step_checks.check_chain(each)
            step_checks.check_ranks_agree(steps)
            step_checks.check_exactly_once(
                steps[0] + steps[1],
                [(seed, DOCUMENTS + job) for seed in seeds_of(job)],
            )
            drained = parts[0].drained
            assert drained is not None
            self.assertEqual(drained.steps, len(steps[0]))
            self.assertEqual(drained.digest, steps[0][-1].digest)
            last[f"{job}"] = drained.digest
        return last

    def test_every_document_comes_once_and_timing_changes_nothing(self) -> None:
        self.create("together")
        ranks = [self.start_rank("together", rank) for rank in range(RANKS)]
        producers = [self.start_producer("together", which, 64) for which in range(2)]
        for process in producers:
            for sent in process.await_all().values():
                self.assertIsNone(sent.error)
                self.assertTrue(sent.ended)
        together = self.check(ranks)

        # The second stream after the first, in messages of another size, ranks last.
        self.create("apart")
        for which, batch in ((0, 7), (1, 150)):
            self.start_producer("apart", which, batch).await_all()
        ranks = [self.start_rank("apart", rank) for rank in range(RANKS)]
        self.assertEqual(self.check(ranks), together)
        self.assertEqual(len(set(together.values())), JOBS)


if __name__ == "__main__":
    unittest.main()
