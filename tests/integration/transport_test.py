"""What gRPC's options do: message limits, ages of connections, pings."""

from __future__ import annotations

import unittest

import deadline_channel
import grpc
import job_specs
import local_client
import step_checks
from call_error import error_of
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from server_process import ServerProcess
from worker_process import RankProcess, subscription

DOCUMENTS = 600


class TransportTest(unittest.TestCase):
    def serve(self, *flags: str) -> ServerProcess:
        server = self.enterContext(ServerProcess(*flags))
        spec = job_specs.small_spec(data=1)
        spec.buffer_limits.max_tokens = 1 << 24
        local_client.create(server, "job", spec)
        return server

    def test_a_larger_message_is_refused(self) -> None:
        server = self.serve("--max-message-bytes", "4096")
        opening = local_client.opening("job", "web")
        for length, code in ((3000, ""), (5000, "RESOURCE_EXHAUSTED")):
            sent = local_client.batch(length=[1] * length)
            if not code:
                answers = local_client.ingest(server, opening, sent)
                self.assertEqual(answers[-1].next_sequence, length)
                continue
            with self.assertRaises(grpc.RpcError) as caught:
                local_client.ingest(server, opening, sent)
            error = error_of(caught.exception)
            self.assertEqual(error.code, code)
            self.assertIn("4096", error.message)
        request = api.CreateJobRequest(name="a" * 5000, spec=job_specs.small_spec())
        with self.assertRaises(grpc.RpcError) as caught:
            server.stub.CreateJob(request)
        self.assertEqual(error_of(caught.exception).code, "RESOURCE_EXHAUSTED")

    def test_the_default_limit_is_above_that_of_grpc(self) -> None:
        server = self.serve()
        # 6 MB, more than the 4 MiB that servers take unless told otherwise.
        sent = local_client.batch(length=[1] * 500_000, id=[2**63] * 500_000)
        opening = local_client.opening("job", "web")
        answers = local_client.ingest(server, opening, sent)
        self.assertEqual(answers[-1].next_sequence, 500_000)

    def test_an_old_connection_is_closed_and_a_rank_goes_on(self) -> None:
        server = self.serve(
            "--max-connection-age-seconds", "1", "--connection-age-grace-seconds", "1"
        )
        local_client.fill(server, "job", job_specs.STREAMS, DOCUMENTS // 2, ends=False)
        asked = subscription("one", api.Subscribe(job="job"), reconnects=True)
        process = self.enterContext(RankProcess(server.grpc_address, [asked]))
        while process.followed["one"].reconnects < 1:
            self.assertIsNotNone(process.take_event())
        followed = process.followed["one"]
        local_client.fill(
            server, "job", job_specs.STREAMS, DOCUMENTS, first=DOCUMENTS // 2
        )
        process.await_all()
        self.assertIsNone(followed.error)
        step_checks.check_chain(followed.steps)
        step_checks.check_exactly_once(followed.steps, [(0, DOCUMENTS), (1, DOCUMENTS)])

    def test_a_client_that_pings_too_often_is_cut_off(self) -> None:
        server = self.serve("--min-ping-seconds", "300")
        options = [
            ("grpc.keepalive_time_ms", 50),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
        ]
        asked = subscription("one", api.Subscribe(job="job"))
        with RankProcess(server.grpc_address, [asked], options=options) as process:
            error = process.await_end("one").error
            assert error is not None
            self.assertEqual(error.code, "UNAVAILABLE")
            self.assertIn("Too many pings", error.message)

    def test_a_client_that_may_ping_so_often_stays(self) -> None:
        server = self.serve("--min-ping-seconds", "0", "--keepalive-seconds", "1")
        options = {
            "keepalive_time_ms": 20,
            "keepalive_permit_without_calls": 1,
            "http2.max_pings_without_data": 0,
        }
        channel = deadline_channel.open_channel(server.grpc_address, **options)
        with channel:
            stub: rpc.PackingServiceStub = rpc.PackingServiceStub(channel)
            asked = local_client.subscribing("job")
            with local_client.Conversation(stub.StreamSteps, asked) as call:
                self.assertTrue(call.receive().HasField("subscribed"))
                # Many times as long as the client takes to ping too often.
                watched = local_client.subscribing("job", subscriber="other")
                with self.assertRaises(grpc.RpcError) as caught:
                    list(server.stub.StreamSteps(iter([watched]), timeout=1))
                self.assertEqual(error_of(caught.exception).code, "DEADLINE_EXCEEDED")
                local_client.fill(server, "job", job_specs.STREAMS, 50)
                self.assertEqual(call.receive().step.index, 0)


if __name__ == "__main__":
    unittest.main()
