"""What gRPC's options do: message limits, ages of connections, pings."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable
from functools import partial
from pathlib import Path

import grpc
import job_specs
import local_client
import step_checks
from call_error import error_of
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess
from worker_process import RankProcess, subscription

DOCUMENTS = 600


def peak_memory(pid: int) -> int:
    """The most bytes that a process has held."""
    status = Path(f"/proc/{pid}/status").read_text()
    (peak,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(peak) << 10


class TransportTest(unittest.TestCase):
    def serve(self, *flags: str) -> ServerProcess:
        server = self.enterContext(ServerProcess(*flags))
        spec = job_specs.small_spec(data=1, roomy=True)
        local_client.create(server, "job", spec)
        return server

    def assert_too_large(self, call: Callable[[], object]) -> None:
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        error = error_of(caught.exception)
        self.assertEqual(error.code, "RESOURCE_EXHAUSTED")
        self.assertIn("larger than max", error.message)
        self.assertIn("vs. 4096", error.message)

    def test_a_larger_message_is_refused(self) -> None:
        server = self.serve("--max-message-bytes", "4096")
        opening = local_client.opening("job", "web")
        sent = local_client.batch(length=[1] * 3000)
        answers = local_client.ingest(server, opening, sent)
        self.assertEqual(answers[-1].next_sequence, 3000)
        sent = local_client.batch(first_sequence=3000, length=[1] * 5000)
        self.assert_too_large(partial(local_client.ingest, server, opening, sent))
        request = api.CreateJobRequest(name="a" * 5000, spec=job_specs.small_spec())
        self.assert_too_large(partial(server.stub.CreateJob, request))
        # Nor does the server send one, and says why: a step of 8,192 documents.
        for stream in job_specs.STREAMS:
            opening = local_client.opening("job", stream)
            for first in range(0, 12_000, 3000):
                sent = local_client.batch(first_sequence=first, length=[1] * 3000)
                local_client.ingest(server, opening, sent)
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.steps_of(server, "job")
        error = error_of(caught.exception)
        self.assertEqual(error.code, "RESOURCE_EXHAUSTED")
        self.assertEqual(error.reason, "ANSWER_TOO_LARGE")
        self.assertEqual(error.metadata["limit"], "4096")
        self.assertIn("--max-message-bytes", error.message)

    def test_compressed_messages_are_refused_before_they_are_inflated(self) -> None:
        server = self.serve()
        # A field that nobody knows, of zeros, which travel as a thousandth of it.
        zeros = 128 << 20
        request = b"\x7a\x80\x80\x80\x40" + bytes(zeros)
        before = peak_memory(server.pid)
        with grpc.insecure_channel(server.grpc_address) as channel:
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
                "/evenpack.v1.PackingService/GetJob"
            )
            with self.assertRaises(grpc.RpcError) as caught:
                call(request, compression=grpc.Compression.Gzip, timeout=60)
        error = error_of(caught.exception)
        self.assertEqual(error.code, "UNIMPLEMENTED")
        self.assertIn("'gzip' is disabled", error.message)
        self.assertLess(peak_memory(server.pid) - before, zeros // 4)

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


if __name__ == "__main__":
    unittest.main()
