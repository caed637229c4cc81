"""SIGTERM: not serving, streams end UNAVAILABLE, exit status 0, no answer is lost."""

from __future__ import annotations

import signal
import socket
import time
import unittest

import documents
import grpc
import health_client
import job_specs
import local_client
import step_checks
from call_error import CallError, error_of
from child_process import DEADLINE, ChildProcess
from evenpack.v1 import packing_service_pb2 as api
from health_client import NOT_SERVING, SERVICE, SERVING
from listening_process import ANY_PORT
from producer import Stream
from server_process import PROGRAM, ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription


class DrainTest(unittest.TestCase):
    def assert_draining(self, error: CallError | None) -> None:
        assert error is not None
        self.assertEqual((error.code, error.reason), ("UNAVAILABLE", "DRAINING"))
        self.assertEqual(error.retry_seconds, 0.5)

    def test_under_load(self) -> None:
        server = self.enterContext(ServerProcess("--drain-seconds", "10"))
        local_client.create(server, "job", job_specs.small_spec(["web"]))
        ranks = self.enterContext(
            RankProcess(
                server.grpc_address,
                [
                    subscription(f"{rank}", api.Subscribe(job="job", dp_rank=rank))
                    for rank in range(2)
                ],
            )
        )
        # More than can be sent before the signal comes.
        stream = Stream("web", "job", "web", 0, 10_000_000)
        producer = self.enterContext(ProducerProcess(server.grpc_address, [stream]))
        health = health_client.watch(server, SERVICE)
        self.assertEqual(next(health), SERVING)
        for rank in range(2):
            ranks.await_steps(f"{rank}", 20)

        server.signal(signal.SIGTERM)
        self.assertEqual(next(health), NOT_SERVING)
        sent = producer.await_all()["web"]
        self.assert_draining(sent.error)
        followed = ranks.await_all()
        self.assertEqual(server.wait(), 0)
        with self.assertRaises(grpc.RpcError):
            local_client.get_job(server, "job")

        # A step holds nothing that its producer was not told to be accepted.
        steps = []
        for each in followed.values():
            self.assert_draining(each.error)
            step_checks.check_chain(each.steps)
            steps += each.steps
        last = max(sequence for _, sequence in step_checks.pieces_of(steps))
        assert sent.next_sequence is not None
        self.assertLess(last, sent.next_sequence)
        step_checks.check_no_repetition(steps)

    def test_an_idle_server_stops_at_once(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with ServerProcess("--drain-seconds", "3600") as server:
                local_client.create(server, "job", job_specs.small_spec())
                server.signal(number)
                self.assertEqual(server.wait(), 0)
                because = f"because={signal.Signals(number).name}"
                self.assertIn(f"draining {because}", server.stderr())

    def test_one_that_was_told_to_outlive_its_terminal_does(self) -> None:
        with ServerProcess(enter=("nohup",)) as server:
            server.signal(signal.SIGHUP)
            local_client.create(server, "job", job_specs.small_spec())
            self.assertEqual(server.terminate(), 0)
            self.assertIn("draining because=SIGTERM", server.stderr())

    def test_one_that_is_still_starting_stops_at_once(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # A database that accepts and never answers.
            with socket.create_server(("127.0.0.1", 0)) as database:
                database.settimeout(DEADLINE)
                target = (
                    f"postgresql://evenpack@127.0.0.1:{database.getsockname()[1]}/e"
                )
                command = [PROGRAM, "--listen", ANY_PORT, "--store", target]
                with ChildProcess(command) as server:
                    connection, _ = database.accept()
                    with connection:
                        server.signal(number)
                        self.assertEqual(server.wait(), 0)
                    because = f"because={signal.Signals(number).name}"
                    self.assertIn(
                        f"stopped before it served {because}", server.stderr()
                    )

    def start_hanging(self, server: ServerProcess) -> RankProcess:
        """A rank that stops before the steps come that it asked for."""
        spec = job_specs.small_spec(["web"], data=1, window=1 << 16, roomy=True)
        local_client.create(server, "job", spec)
        asked = subscription("one", api.Subscribe(job="job", credits=1 << 20), "none")
        process = self.enterContext(RankProcess(server.grpc_address, [asked]))
        process.await_subscribed()
        process.signal(signal.SIGSTOP)
        # Steps of more bytes than the transport takes for a stream that is not read.
        count = 100_000
        for first in range(0, 5 * count, count):
            ids = range(documents.WIDE_ID + first, documents.WIDE_ID + first + count)
            sent = local_client.batch(first_sequence=first, length=[16] * count, id=ids)
            opening = local_client.opening("job", "web")
            local_client.ingest(server, opening, sent)
        return process

    def test_a_client_that_hangs_is_waited_for_but_not_longer(self) -> None:
        server = self.enterContext(ServerProcess("--drain-seconds", "2"))
        process = self.start_hanging(server)
        began = time.monotonic()
        health = health_client.watch(server, SERVICE)
        self.assertEqual(next(health), SERVING)
        server.signal(signal.SIGTERM)
        self.assertEqual(next(health), NOT_SERVING)

        # Meanwhile it says so, to whoever asks.
        self.assertEqual(server.get("/readyz")[0], 503)
        self.assertEqual(server.get("/healthz")[0], 200)
        opening = local_client.opening("job", "web")
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.ingest(server, opening)
        self.assert_draining(error_of(caught.exception))

        self.assertEqual(server.wait(), 0)
        took = time.monotonic() - began
        self.assertGreater(took, 2)
        self.assertLess(took, 12)
        process.signal(signal.SIGCONT)
        error = process.await_end("one").error
        assert error is not None
        self.assertEqual(error.code, "UNAVAILABLE")


if __name__ == "__main__":
    unittest.main()
