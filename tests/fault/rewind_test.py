"""Back to an earlier step, with documents skipped, another shape, or as another job."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import job_specs
import local_client
import step_checks
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess

DOCUMENTS = 700
STREAMS = [(seed, DOCUMENTS) for seed in range(len(job_specs.STREAMS))]
# Steps that are durable, and kept all the same, when something is taken back.
DURABLE = 6


def spec_of(data: int, micro_batches: int, context: int = 2) -> job_pb2.JobSpec:
    spec = job_specs.small_spec(
        data=data, micro_batches=micro_batches, context=context, roomy=True
    )
    spec.retention.checkpoints = 100
    return spec


def skip_of(stream: str, first: int, count: int) -> api.DocumentRange:
    return api.DocumentRange(stream=stream, first_sequence=first, documents=count)


class RewindTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = f"sqlite:{directory / 'store'}"
        self.server = ServerProcess("--store", self.store)
        self.addCleanup(lambda: self.server.__exit__(None, None, None))

    def kill_and_restart(self) -> None:
        self.server.kill()
        self.server.__exit__(None, None, None)
        self.server = ServerProcess("--store", self.store)

    def start_job(self, name: str = "job") -> None:
        """A job with all its documents, DURABLE steps of it durable."""
        local_client.create(self.server, name, spec_of(2, 2))
        local_client.fill(self.server, name, job_specs.STREAMS, DOCUMENTS)
        for step in range(DURABLE):
            local_client.acknowledge(self.server, name, step, 2)

    def ranks(self, name: str, data: int, first: int = 0) -> list[list[step_pb2.Step]]:
        """The kept steps from `first` on, of each rank."""
        return [
            local_client.steps_of(self.server, name, from_step=first, dp_rank=rank)
            for rank in range(data)
        ]

    def check_whole(
        self,
        before: list[list[step_pb2.Step]],
        after: list[list[step_pb2.Step]],
        skipped: set[tuple[int, int]] | None = None,
    ) -> None:
        """What was kept of one shape and formed in another is one history."""
        step_checks.check_ranks_agree(before)
        step_checks.check_ranks_agree(after)
        step_checks.check_chain(before[0] + after[0])
        every = [step for rank in before + after for step in rank]
        step_checks.check_exactly_once(every, STREAMS, skipped or ())

    def test_after_a_loss_spike(self) -> None:
        self.start_job()
        before = self.ranks("job", 2)
        # What step 4 began with, up to what step 7 did.
        bad = [each.micro_batches[0].documents.sequence[0] for each in before[0][4:8]]
        first, count = min(bad), max(bad) - min(bad) + 1
        trained = step_checks.pieces_of(step for rank in before for step in rank[:3])
        self.assertFalse(trained.keys() & {(0, first + i) for i in range(count)})
        rewound = self.server.stub.RewindJob(
            api.RewindJobRequest(
                name="job",
                from_step=3,
                skip=[skip_of("web", first, count)],
                expected_epoch=0,
            )
        ).job
        self.assertEqual((rewound.epoch, rewound.durable_steps), (1, 3))
        self.kill_and_restart()
        job = local_client.get_job(self.server, "job")
        self.assertEqual((job.epoch, job.digest), (1, rewound.digest))
        self.assertEqual(job.streams[0].skipped[0].documents, count)
        kept = self.ranks("job", 2)
        self.assertEqual([rank[:3] for rank in kept], [rank[:3] for rank in before])
        self.check_whole(
            [rank[:3] for rank in kept],
            [rank[3:] for rank in kept],
            {(0, first + i) for i in range(count)},
        )
        # Taken back further, it does not meet them again.
        self.server.stub.RewindJob(api.RewindJobRequest(name="job", from_step=0))
        again = self.ranks("job", 2)
        self.check_whole([[], []], again, {(0, first + i) for i in range(count)})

    def test_without_a_skip_the_steps_are_the_same(self) -> None:
        self.start_job()
        before = self.ranks("job", 2)
        for from_step in (5, 2, 0):
            self.server.stub.RewindJob(
                api.RewindJobRequest(name="job", from_step=from_step)
            )
            self.kill_and_restart()
            after = self.ranks("job", 2)
            digests = [step.digest for step in after[0]]
            self.assertEqual(digests, [step.digest for step in before[0]])

    def test_with_another_shape(self) -> None:
        self.start_job()
        before = self.ranks("job", 2)
        for data, micro_batches, context in ((4, 1, 4), (1, 3, 1), (3, 2, 2)):
            with self.subTest(data=data):
                spec = spec_of(data, micro_batches, context)
                job = self.server.stub.RewindJob(
                    api.RewindJobRequest(name="job", from_step=4, spec=spec)
                ).job
                self.assertEqual(job.spec.parallelism.data, data)
                self.assertEqual(list(job.durable_steps_per_rank), [4] * data)
                after = self.ranks("job", data, first=4)
                self.check_whole([rank[:4] for rank in before], after)

    def test_a_restored_job_takes_another_shape(self) -> None:
        self.start_job()
        before = self.ranks("job", 2)
        taken = self.server.stub.CheckpointJob(
            api.CheckpointJobRequest(name="job", step=4)
        )
        restore = api.RestoreJobRequest(name="again", checkpoint=taken.checkpoint)
        self.server.stub.RestoreJob(restore)
        self.server.stub.UpdateJob(
            api.UpdateJobRequest(name="again", spec=spec_of(4, 1, 1), from_step=5)
        )
        after = self.ranks("again", 4, first=5)
        self.check_whole([rank[:5] for rank in before], after)

    def test_to_a_checkpoint_that_is_no_longer_kept(self) -> None:
        spec = spec_of(2, 2)
        spec.retention.checkpoints = 1
        local_client.create(self.server, "job", spec)
        half = DOCUMENTS // 2
        local_client.fill(self.server, "job", job_specs.STREAMS, half, ends=False)
        taken = self.server.stub.CheckpointJob(
            api.CheckpointJobRequest(name="job", step=1)
        )
        local_client.fill(self.server, "job", job_specs.STREAMS, DOCUMENTS, first=half)
        start = self.ranks("job", 2)
        for step in range(DURABLE):
            local_client.acknowledge(self.server, "job", step, 2)
        self.server.stub.RewindJob(
            api.RewindJobRequest(name="job", checkpoint=taken.checkpoint)
        )
        self.kill_and_restart()
        job = local_client.get_job(self.server, "job")
        self.assertEqual([each.next_sequence for each in job.streams], [half] * 2)
        local_client.fill(self.server, "job", job_specs.STREAMS, DOCUMENTS, first=half)
        after = self.ranks("job", 2, first=2)
        self.assertEqual(after[0][-1].digest, start[0][-1].digest)
        self.check_whole([rank[:2] for rank in start], after)

    def test_a_fork_is_the_same_until_it_is_made_another(self) -> None:
        local_client.create(self.server, "job", spec_of(2, 2))
        half = DOCUMENTS // 2
        local_client.fill(self.server, "job", job_specs.STREAMS, half, ends=False)
        fork = self.server.stub.ForkJob(
            api.ForkJobRequest(name="job", new_name="fork", step=2)
        ).job
        self.assertEqual(fork.durable_steps, 3)
        self.kill_and_restart()
        for name in ("job", "fork"):
            local_client.fill(
                self.server, name, job_specs.STREAMS, DOCUMENTS, first=half
            )
        before = self.ranks("job", 2)
        forked = self.ranks("fork", 2, first=3)
        self.assertEqual(forked, [rank[3:] for rank in before])
        bad = documents_of(forked[0][1])
        self.server.stub.SkipDocuments(
            api.SkipDocumentsRequest(
                name="fork",
                from_step=4,
                skip=[skip_of("web", sequence, 1) for sequence in bad],
            )
        )
        self.assertEqual(self.ranks("job", 2), before)
        after = self.ranks("fork", 2, first=3)
        self.check_whole(
            [rank[:3] for rank in before], after, {(0, sequence) for sequence in bad}
        )


def documents_of(step: step_pb2.Step) -> list[int]:
    """Sequence numbers of stream 0 in a step, whole documents alone."""
    held = step.micro_batches[0].documents
    return [
        sequence
        for i, sequence in enumerate(held.sequence)
        if (held.stream[i] if held.stream else 0) == 0 and not held.offset
    ]


if __name__ == "__main__":
    unittest.main()
