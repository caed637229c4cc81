"""UpdateJob withdraws steps; their documents come again, once, in the new shape."""

from __future__ import annotations

import threading
import unittest

import grpc
import job_specs
import local_client
import step_checks
from call_error import CallError, error_of
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from local_client import subscribing
from server_process import ServerProcess
from worker_process import RankProcess, subscription

DOCUMENTS = 500
# Steps 0 to 5 are durable when the job is reconfigured from step 8 on.
DURABLE = 6
FROM_STEP = 8


def shape_of(data: int, micro_batches: int, *, context: int = 2) -> job_pb2.JobSpec:
    """A spec of another parallel shape."""
    return job_specs.small_spec(
        data=data, micro_batches=micro_batches, context=context, roomy=True
    )


class EpochTest(unittest.TestCase):
    server: ServerProcess

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(ServerProcess())

    def create(self, name: str, *, ends: bool = True) -> list[list[step_pb2.Step]]:
        """A job whose first steps are durable; each rank's steps."""
        local_client.create(self.server, name, shape_of(2, 2))
        local_client.fill(self.server, name, job_specs.STREAMS, DOCUMENTS, ends=ends)
        steps = self.steps(name, 2, 0)
        local_client.acknowledge(self.server, name, DURABLE - 1, 2)
        return steps

    def steps(self, name: str, ranks: int, first: int) -> list[list[step_pb2.Step]]:
        """Every rank's steps from `first` on."""
        return [
            local_client.steps_of(self.server, name, dp_rank=rank, from_step=first)
            for rank in range(ranks)
        ]

    def update(self, name: str, spec: job_pb2.JobSpec, **fields: int) -> job_pb2.Job:
        request = api.UpdateJobRequest(name=name, spec=spec, **fields)
        return self.server.stub.UpdateJob(request).job

    def refused(self, call: object, *arguments: object) -> CallError:
        assert callable(call)
        with self.assertRaises(grpc.RpcError) as caught:
            call(*arguments)
        return error_of(caught.exception)

    def start_ranks(self, name: str) -> RankProcess:
        """Ranks that are still on the way when the job has been drained."""
        asked = [
            subscription(
                f"{rank}", api.Subscribe(job=name, dp_rank=rank, credits=1), "none"
            )
            for rank in range(2)
        ]
        return self.enterContext(RankProcess(self.server.grpc_address, asked))

    def assert_epoch_ended(self, error: CallError | None, **shape: str) -> None:
        assert error is not None
        self.assertEqual((error.code, error.reason), ("ABORTED", "EPOCH_ENDED"))
        self.assertEqual(error.metadata, {**error.metadata, **shape})

    def check_reshaped(self, name: str, data: int, micro_batches: int) -> None:
        old = self.create(name)
        followers = self.start_ranks(name)
        followers.await_subscribed()
        spec = shape_of(data, micro_batches, context=1)
        updated = self.update(name, spec, from_step=FROM_STEP)
        self.assertEqual(updated.epoch, 1)
        self.assertEqual((updated.oldest_step, updated.durable_steps), (DURABLE,) * 2)
        self.assertEqual(list(updated.durable_steps_per_rank), [DURABLE] * data)
        for rank in range(2):
            self.assert_epoch_ended(
                followers.await_end(f"{rank}").error,
                epoch="1",
                data_parallel=f"{data}",
                micro_batches=f"{data * micro_batches}",
                context_parallel="1",
                window="4096",
            )
        new = self.steps(name, data, FROM_STEP)
        self.assertEqual({step.epoch for step in new[0]}, {1})
        step_checks.check_ranks_agree(new)
        kept = [steps[:FROM_STEP] for steps in old]
        step_checks.check_chain([*kept[0], *new[0]])
        every = [step for steps in (*kept, *new) for step in steps]
        step_checks.check_exactly_once(every, [(0, DOCUMENTS), (1, DOCUMENTS)])

    def test_withdrawn_documents_come_again_in_the_new_shape(self) -> None:
        for name, data, micro_batches in (
            ("more", 4, 1),
            ("less", 1, 3),
            ("same", 2, 2),
        ):
            with self.subTest(name):
                self.check_reshaped(name, data, micro_batches)

    def test_without_a_step_none_is_withdrawn(self) -> None:
        self.create("none", ends=False)
        before = local_client.get_job(self.server, "none")
        # Its rank 1 would be gone, and with it half of the steps that aren't durable.
        fewer = api.UpdateJobRequest(name="none", spec=shape_of(1, 4))
        error = self.refused(self.server.stub.UpdateJob, fewer)
        self.assertEqual(error.code, "FAILED_PRECONDITION")
        self.assertIn(f"steps from {DURABLE} on aren't durable", error.message)
        updated = self.update("none", shape_of(4, 1))
        self.assertEqual((updated.epoch, updated.durable_steps), (1, DURABLE))
        request = api.GetStepRequest(job="none", step=before.next_step - 1, dp_rank=1)
        last = self.server.stub.GetStep(request).step
        self.assertEqual((last.epoch, last.digest), (0, before.digest))
        # One of the new shape alone is given it without micro-batches.
        request.dp_rank = 3
        self.assertEqual(len(self.server.stub.GetStep(request).step.micro_batches), 0)
        # A rank of the new shape is told the old shape's steps that are not durable.
        told = local_client.steps_of(self.server, "none")
        self.assertEqual(told[0].index, DURABLE)

    def test_a_mark_for_a_withdrawn_step_is_refused(self) -> None:
        self.create("stale")
        self.update("stale", shape_of(2, 2), from_step=FROM_STEP)
        kept = api.AcknowledgeRequest(job="stale", step=FROM_STEP - 1)
        answer = self.server.stub.Acknowledge(kept)
        self.assertEqual(answer.durable_steps, FROM_STEP)
        withdrawn = api.AcknowledgeRequest(job="stale", step=FROM_STEP)
        error = self.refused(self.server.stub.Acknowledge, withdrawn)
        self.assert_epoch_ended(error, epoch="1")
        withdrawn.epoch = 1
        answer = self.server.stub.Acknowledge(withdrawn)
        self.assertEqual(answer.durable_steps, FROM_STEP + 1)

    def test_a_subscriber_of_the_old_epoch_is_told_the_new_shape(self) -> None:
        self.create("told")
        self.update("told", shape_of(2, 1), expected_epoch=0)
        asked = subscribing("told", epoch=0)
        error = self.refused(local_client.stream_steps, self.server, asked)
        self.assert_epoch_ended(error, micro_batches="2")
        asked = subscribing("told", epoch=1, credits=1)
        subscribed = local_client.stream_steps(self.server, asked)[0].subscribed
        self.assertEqual(subscribed.epoch, 1)
        self.assertEqual(subscribed.spec.parallelism.micro_batches_per_rank, 1)

    def test_a_step_that_was_formed_again_for_other_ranks_is_another(self) -> None:
        old = self.create("again")[0]
        self.update("again", shape_of(1, 4), from_step=FROM_STEP)
        new = self.steps("again", 1, FROM_STEP)[0]
        # The same micro-batches, of which the rank had half before.
        last = old[FROM_STEP + 1]
        self.assertEqual(new[1].digest, last.digest)
        self.assertLess(len(last.micro_batches), len(new[1].micro_batches))
        behind = subscribing(
            "again", from_step=last.index + 1, last_digest=last.digest, credits=1
        )
        local_client.stream_steps(self.server, behind)
        behind.subscribe.last_epoch = new[1].epoch
        local_client.stream_steps(self.server, behind)
        behind.subscribe.last_epoch = last.epoch
        error = self.refused(local_client.stream_steps, self.server, behind)
        self.assertEqual((error.code, error.reason), ("DATA_LOSS", "HISTORY_DIFFERS"))

    def test_of_two_updates_at_once_one_is_made(self) -> None:
        self.create("race")
        results: list[str] = []

        def update(data: int) -> None:
            try:
                self.update("race", shape_of(data, 1), expected_epoch=0)
                results.append("OK")
            except grpc.RpcError as error:
                results.append(error_of(error).reason)

        threads = [threading.Thread(target=update, args=(n,)) for n in (2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), ["EPOCH_ENDED", "OK"])
        self.assertEqual(local_client.get_job(self.server, "race").epoch, 1)

    def test_documents_that_wait_must_fit(self) -> None:
        self.create("fit", ends=False)
        spec = job_specs.small_spec(window=1024)
        spec.max_length = 1024
        request = api.UpdateJobRequest(name="fit", spec=spec)
        error = self.refused(self.server.stub.UpdateJob, request)
        self.assertEqual(error.code, "FAILED_PRECONDITION")
        self.assertIn("which waits, has", error.message)
        self.assertEqual(local_client.get_job(self.server, "fit").epoch, 0)


if __name__ == "__main__":
    unittest.main()
