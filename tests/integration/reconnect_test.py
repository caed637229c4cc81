"""Ranks that lose their call go on where they were, or are told that they can't."""

from __future__ import annotations

import unittest

import digests
import grpc
import job_specs
import local_client
import step_checks
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess
from worker_process import Followed, RankProcess, subscription

DOCUMENTS = 900
# A call is dropped after so many steps.
DROPPED_AFTER = 7


class ReconnectTest(unittest.TestCase):
    server: ServerProcess

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(ServerProcess())

    def create(self, name: str, documents: int = DOCUMENTS) -> None:
        spec = job_specs.small_spec(roomy=True)
        local_client.create(self.server, name, spec)
        local_client.fill(self.server, name, job_specs.STREAMS, documents)

    def follow(
        self, asked: api.Subscribe, marks: str = "durable", steps: int | None = None
    ) -> Followed:
        """Follows a subscription in a process of its own, to its end."""
        one = subscription("one", asked, marks, steps=steps)
        with RankProcess(self.server.grpc_address, [one]) as process:
            return process.await_all()["one"]

    def test_a_resumed_rank_gets_the_same_bytes(self) -> None:
        self.create("resumed")
        for cp_rank in (None, 1):
            asked = api.Subscribe(job="resumed", dp_rank=1, cp_rank=cp_rank)
            whole = self.follow(asked, marks="received")
            step_checks.check_chain(whole.steps)
            self.assertIsNone(whole.error)
            self.assertGreater(len(whole.steps), 3 * DROPPED_AFTER)

            asked.credits = 3
            first = self.follow(asked, marks="received", steps=DROPPED_AFTER)
            self.assertEqual(first.raw_steps, whole.raw_steps[:DROPPED_AFTER])
            self.assertIsNone(first.drained)
            asked.from_step = DROPPED_AFTER
            asked.last_digest = first.steps[-1].digest
            second = self.follow(asked, marks="received")
            self.assertEqual(second.raw_steps, whole.raw_steps[DROPPED_AFTER:])
            self.assertEqual(second.drained, whole.drained)
            assert second.subscribed is not None
            self.assertEqual(second.subscribed.from_step, DROPPED_AFTER)
            self.assertEqual(second.subscribed.previous_digest, asked.last_digest)

    def test_a_rank_without_a_cursor_begins_after_what_is_durable(self) -> None:
        self.create("durable")
        asked = api.Subscribe(job="durable")
        # The last step that it gets is not marked any more.
        one = subscription("one", asked, pause_after=DROPPED_AFTER)
        with RankProcess(self.server.grpc_address, [one]) as process:
            process.await_steps("one", DROPPED_AFTER)
            marked = [DROPPED_AFTER - 1, 0]
            wait_until(
                lambda: (
                    local_client.get_job(self.server, "durable").durable_steps_per_rank
                    == marked
                ),
                "the marks are taken",
            )
        second = self.follow(asked, steps=1)
        assert second.subscribed is not None
        self.assertEqual(second.subscribed.from_step, DROPPED_AFTER - 1)
        self.assertEqual(second.subscribed.durable_steps, DROPPED_AFTER - 1)
        self.assertEqual(second.raw_steps, [process.followed["one"].raw_steps[-1]])

    def test_a_rank_of_another_history_is_not_served(self) -> None:
        self.create("here")
        spec = job_specs.small_spec()
        local_client.create(self.server, "there", spec)
        # The same streams the other way round.
        local_client.fill(self.server, "there", job_specs.STREAMS[::-1], 200)
        asked = api.Subscribe(job="there")
        there = self.follow(asked, marks="none", steps=3)
        asked = api.Subscribe(
            job="here", from_step=3, last_digest=there.steps[-1].digest
        )
        refused = self.follow(asked, marks="none")
        assert refused.error is not None
        self.assertEqual(refused.error.code, "DATA_LOSS")
        self.assertEqual(refused.error.reason, "HISTORY_DIFFERS")
        self.assertIn(there.steps[-1].digest.hex(), refused.error.message)
        self.assertIsNone(refused.subscribed)

    def test_before_the_first_step_all_histories_are_one(self) -> None:
        self.create("begin", 200)
        asked = api.Subscribe(job="begin", from_step=0, last_digest=digests.GENESIS)
        self.assertEqual(self.follow(asked, steps=1).steps[0].index, 0)

    def test_a_deleted_job_ends_its_streams(self) -> None:
        self.create("deleted", 200)
        asked = subscription("one", api.Subscribe(job="deleted", credits=2), "none")
        opened = local_client.opening("deleted", "web")
        with (
            RankProcess(self.server.grpc_address, [asked]) as process,
            local_client.open_ingest(self.server, opened) as producer,
        ):
            process.await_steps("one", 2)
            self.assertTrue(producer.receive().ended)
            self.server.stub.DeleteJob(api.DeleteJobRequest(name="deleted"))
            with self.assertRaises(grpc.RpcError) as caught:
                producer.rest()
            for error in (error_of(caught.exception), process.await_end("one").error):
                assert error is not None
                self.assertEqual(error.code, "NOT_FOUND")
                self.assertEqual(error.reason, "JOB_NOT_FOUND")


if __name__ == "__main__":
    unittest.main()
