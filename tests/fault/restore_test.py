"""A job restored after any of its steps, on another server, goes on byte for byte."""

from __future__ import annotations

import unittest

import documents
import grpc
import job_specs
import local_client
import step_checks
from call_error import error_of
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess

DOCUMENTS = 700
# What the first server has been given when checkpoints are taken.
BEFORE = 400
SHAPES = ((1, 1), (2, 2), (4, 1))


class RestoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.first = self.enterContext(ServerProcess())
        self.second = self.enterContext(ServerProcess())

    def checkpoint(self, name: str, step: int) -> api.CheckpointJobResponse:
        request = api.CheckpointJobRequest(name=name, step=step)
        return self.first.stub.CheckpointJob(request)

    def restore(self, name: str, checkpoint: bytes) -> api.RestoreJobResponse:
        request = api.RestoreJobRequest(name=name, checkpoint=checkpoint)
        return self.second.stub.RestoreJob(request)

    def steps(self, server: ServerProcess, name: str, data: int) -> list[list[bytes]]:
        """All kept steps of each rank."""
        return [
            [
                step.SerializeToString()
                for step in local_client.steps_of(server, name, dp_rank=rank)
            ]
            for rank in range(data)
        ]

    def check_shape(self, spec: job_pb2.JobSpec) -> None:
        name = "job"
        data = spec.parallelism.data
        local_client.create(self.first, name, spec)
        local_client.fill(self.first, name, job_specs.STREAMS, BEFORE, ends=False)
        decided = local_client.get_job(self.first, name).next_step
        self.assertGreater(decided, 3)
        checkpoints = [self.checkpoint(name, step) for step in range(decided)]
        local_client.fill(self.first, name, job_specs.STREAMS, DOCUMENTS, first=BEFORE)
        whole = self.steps(self.first, name, data)
        self.first.stub.DeleteJob(api.DeleteJobRequest(name=name))
        parsed = [[step_pb2.Step.FromString(raw) for raw in rank] for rank in whole]
        step_checks.check_ranks_agree(parsed)
        for step, taken in enumerate(checkpoints):
            self.assertEqual(taken.digest, parsed[0][step].digest)
            job = self.restore(name, taken.checkpoint).job
            self.assertEqual(job.durable_steps, step + 1)
            for seed, stream in enumerate(job.streams):
                # From where the server says.
                self.assertEqual(stream.next_sequence, BEFORE)
                rest = documents.batch_of(seed, BEFORE, DOCUMENTS - BEFORE)
                local_client.ingest(
                    self.second,
                    local_client.opening(name, stream.name),
                    api.IngestRequest(batch=rest),
                    local_client.end_of_stream(DOCUMENTS),
                )
            again = self.steps(self.second, name, data)
            self.assertEqual(again, [rank[step + 1 :] for rank in whole], step)
            self.second.stub.DeleteJob(api.DeleteJobRequest(name=name))

    def test_at_every_step(self) -> None:
        for spec_of in (job_specs.small_spec, job_specs.balanced_spec):
            for data, micro_batches in SHAPES:
                with self.subTest(spec_of.__name__, data=data, each=micro_batches):
                    self.check_shape(
                        spec_of(data=data, micro_batches=micro_batches, roomy=True)
                    )

    def test_a_rank_goes_on_with_its_digest(self) -> None:
        local_client.create(self.first, "job", job_specs.small_spec(roomy=True))
        local_client.fill(self.first, "job", job_specs.STREAMS, BEFORE)
        taken = self.checkpoint("job", 2)
        self.restore("job", taken.checkpoint)
        asked = local_client.subscribing(
            "job", from_step=3, last_digest=taken.digest, credits=1
        )
        subscribed, step = local_client.stream_steps(self.second, asked)
        self.assertEqual(subscribed.subscribed.previous_digest, taken.digest)
        self.assertEqual(step.step.index, 3)
        self.assertEqual(step.step.previous_digest, taken.digest)
        other = local_client.subscribing("job", from_step=3, last_digest=b"x" * 16)
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.stream_steps(self.second, other)
        self.assertEqual(error_of(caught.exception).reason, "HISTORY_DIFFERS")

    def test_what_can_not_be_restored_is_refused(self) -> None:
        local_client.create(self.first, "job", job_specs.small_spec(roomy=True))
        local_client.fill(self.first, "job", job_specs.STREAMS, BEFORE)
        taken = self.checkpoint("job", 2).checkpoint
        self.restore("job", taken)
        damaged = bytearray(taken)
        damaged[len(damaged) // 2] ^= 1
        cases = (
            ("job", taken, "ALREADY_EXISTS"),
            ("other", bytes(damaged), "DATA_LOSS"),
            ("other", taken[:-1], "DATA_LOSS"),
            ("other", b"", "INVALID_ARGUMENT"),
            ("no name", taken, "INVALID_ARGUMENT"),
        )
        for name, blob, code in cases:
            with self.subTest(code=code), self.assertRaises(grpc.RpcError) as caught:
                self.restore(name, blob)
            self.assertEqual(error_of(caught.exception).code, code)
        # A refused one leaves nothing.
        self.restore("other", taken)
        decided = local_client.get_job(self.first, "job").next_step
        with self.assertRaises(grpc.RpcError) as caught:
            self.checkpoint("job", decided)
        error = error_of(caught.exception)
        self.assertEqual(error.code, "OUT_OF_RANGE")
        self.assertIn(f"0 to {decided - 1}", error.message)


if __name__ == "__main__":
    unittest.main()
