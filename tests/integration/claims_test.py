"""Who may follow as whom: the newer subscription of the same rank wins."""

from __future__ import annotations

import unittest

import grpc
import job_specs
import local_client
from call_error import CallError, error_of
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from local_client import Conversation, subscribing
from server_process import THROUGH_AGENT, ServerProcess
from worker_process import RankProcess, subscription

Steps = Conversation[api.StreamStepsRequest, api.StreamStepsResponse]


class ClaimsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        spec = job_specs.small_spec(roomy=True)
        local_client.create(self.server, "job", spec)
        local_client.fill(self.server, "job", job_specs.STREAMS, 400, ends=False)

    def subscribe(self, **fields: object) -> Steps:
        """A subscription that is accepted."""
        asked = subscribing("job", credits=1, **fields)
        call = self.enterContext(local_client.open_steps(self.server, asked))
        self.assertTrue(call.receive().HasField("subscribed"))
        self.assertTrue(call.receive().HasField("step"))
        return call

    def error_of_ended(self, call: Steps) -> CallError:
        with self.assertRaises(grpc.RpcError) as caught:
            call.rest()
        return error_of(caught.exception)

    def assert_taken(self, call: Steps, *says: str) -> None:
        error = self.error_of_ended(call)
        self.assertEqual((error.code, error.reason), ("ABORTED", "CLAIM_TAKEN"))
        for part in says:
            self.assertIn(part, error.message)

    def assert_goes_on(self, call: Steps, step: int) -> None:
        call.send(api.StreamStepsRequest(received=api.Received(step=step)))
        self.assertEqual(call.receive().step.index, step + 1)

    def subscribers(self) -> int:
        return local_client.get_job(self.server, "job").subscribers

    def test_the_newer_one_wins_and_goes_on_where_the_older_was(self) -> None:
        asked = api.Subscribe(job="job", subscriber="trainer", credits=4)
        older = subscription("older", asked, "none")
        with RankProcess(self.server.grpc_address, [older]) as process:
            steps = process.await_steps("older", 4)
            newer = self.subscribe(
                subscriber="trainer", from_step=4, last_digest=steps[-1].digest
            )
            error = process.await_end("older").error
            assert error is not None
            self.assertEqual((error.code, error.reason), ("ABORTED", "CLAIM_TAKEN"))
            self.assertIn("dp_rank 0, 'trainer'", error.message)
        self.assert_goes_on(newer, 4)
        self.assertEqual(self.subscribers(), 1)

    def test_a_chain_of_takeovers_leaves_the_last(self) -> None:
        calls = [self.subscribe() for _ in range(5)]
        for call in calls[:-1]:
            self.assert_taken(call)
        self.assert_goes_on(calls[-1], 0)

    @unittest.skipIf(THROUGH_AGENT, "the server has but the agent's subscription")
    def test_other_ranks_and_names_are_claims_of_their_own(self) -> None:
        calls = [
            self.subscribe(),
            self.subscribe(dp_rank=1),
            self.subscribe(cp_rank=0),
            self.subscribe(cp_rank=1),
            self.subscribe(subscriber="observer"),
        ]
        for call in calls:
            self.assert_goes_on(call, 0)
        self.assertEqual(self.subscribers(), len(calls))

    def test_one_subscription_of_a_dp_rank_sends_durable_marks(self) -> None:
        older = self.subscribe(sends_durable=True, subscriber="a")
        other_rank = self.subscribe(sends_durable=True, subscriber="a", dp_rank=1)
        only_receives = self.subscribe(subscriber="c")
        newer = self.subscribe(sends_durable=True, subscriber="b")
        self.assert_taken(older, "sends_durable", "the steps of dp_rank 0")
        self.assert_goes_on(other_rank, 0)
        self.assert_goes_on(only_receives, 0)
        newer.send(api.StreamStepsRequest(durable=api.Durable(step=0)))
        self.assertEqual(newer.receive().durable_marked.durable_steps, 1)

    def test_a_call_that_ended_frees_its_claim(self) -> None:
        first = self.subscribe()
        # Without a credit, and nobody to give one, nothing more is due.
        first.close()
        self.assertEqual(first.rest(), [])
        wait_until(lambda: self.subscribers() == 0, "the claim is free")
        self.assert_goes_on(self.subscribe(), 0)

    def test_a_refused_subscription_takes_no_claim(self) -> None:
        holder = self.subscribe()
        asked = subscribing("job", from_step=1000)
        with self.assertRaises(grpc.RpcError):
            local_client.stream_steps(self.server, asked)
        self.assert_goes_on(holder, 0)


if __name__ == "__main__":
    unittest.main()
