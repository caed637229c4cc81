"""Producers that die, begin again, or send something else: exactly once, or refused."""

from __future__ import annotations

import unittest
from dataclasses import replace

import documents
import grpc
import job_specs
import local_client
import step_checks
from call_error import error_of
from evenpack.v1 import packing_service_pb2 as api
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, Sent, subscription

DOCUMENTS = 3000
STREAM = Stream("web", "", "web", seed=0, end=DOCUMENTS, batch=10)


class ResendTest(unittest.TestCase):
    server: ServerProcess

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(ServerProcess())

    def create(self, name: str) -> None:
        spec = job_specs.small_spec(["web"], data=1)
        # Half a dozen messages, so that producers are still at work when they die.
        spec.buffer_limits.max_tokens = 1 << 15
        spec.retention.max_steps_ahead = 4
        local_client.create(self.server, name, spec)

    def start_producer(self, *streams: Stream) -> ProducerProcess:
        process = ProducerProcess(self.server.grpc_address, streams)
        return self.enterContext(process)

    def produce(self, stream: Stream) -> Sent:
        """What a producer of one stream comes to."""
        return self.start_producer(stream).await_all()[stream.name]

    def start_rank(self, job: str) -> RankProcess:
        one = subscription("one", api.Subscribe(job=job))
        return self.enterContext(RankProcess(self.server.grpc_address, [one]))

    def check_complete(self, process: RankProcess) -> None:
        steps = process.await_all()["one"].steps
        step_checks.check_chain(steps)
        step_checks.check_exactly_once(steps, [(STREAM.seed, DOCUMENTS)])

    def accepted(self, job: str) -> int:
        return local_client.get_job(self.server, job).streams[0].next_sequence

    def test_a_producer_that_died_is_replaced(self) -> None:
        # From the beginning, from a number before what was accepted, in other messages.
        for name, first, batch in (("zero", 0, 10), ("some", 100, 64), ("one", 1, 500)):
            with self.subTest(name):
                self.create(name)
                stream = replace(STREAM, job=name)
                dying = self.start_producer(stream)
                dying.await_accepted("web", 200)
                dying.kill()
                accepted = self.accepted(name)
                self.assertLess(accepted, DOCUMENTS)
                rank = self.start_rank(name)
                again = self.produce(replace(stream, first=first, batch=batch))
                self.assertIsNone(again.error)
                self.assertTrue(again.ended)
                self.check_complete(rank)

    def test_two_producers_of_one_stream_send_it_once(self) -> None:
        self.create("twice")
        rank = self.start_rank("twice")
        stream = replace(STREAM, job="twice")
        both = [self.start_producer(stream), self.start_producer(stream)]
        for process in both:
            sent = process.await_all()["web"]
            self.assertIsNone(sent.error)
            self.assertEqual((sent.next_sequence, sent.ended), (DOCUMENTS, True))
        self.check_complete(rank)

    def test_other_content_under_the_same_numbers_is_refused(self) -> None:
        self.create("content")
        web = local_client.opening("content", "web")
        sent = documents.batch_of(STREAM.seed, 0, 20)
        local_client.ingest(self.server, web, api.IngestRequest(batch=sent))
        # What is known is trimmed; the first that differs is named.
        for first, count, differs in ((0, 20, 0), (15, 20, 15), (0, 1, 0)):
            other = documents.batch_of(STREAM.seed + 1, first, count)
            with self.assertRaises(grpc.RpcError) as caught:
                local_client.ingest(self.server, web, api.IngestRequest(batch=other))
            error = error_of(caught.exception)
            self.assertEqual((error.code, error.reason), ("ABORTED", "CONTENT_DIFFERS"))
            self.assertIn(f"sequence {differs} of stream 'web'", error.message)
            self.assertEqual(self.accepted("content"), 20)
        changed = documents.batch_of(STREAM.seed, 0, 20)
        changed.id.extend(range(1, 21))
        with self.assertRaises(grpc.RpcError):
            local_client.ingest(self.server, web, api.IngestRequest(batch=changed))

    def test_a_gap_names_the_number_expected(self) -> None:
        self.create("gap")
        error = self.produce(replace(STREAM, job="gap", first=5, end=15)).error
        assert error is not None
        self.assertEqual((error.code, error.reason), ("OUT_OF_RANGE", "SEQUENCE_GAP"))
        self.assertEqual(error.metadata["next_sequence"], "0")
        # What the error says is where to go on.
        sent = self.produce(replace(STREAM, job="gap", first=0, end=15))
        self.assertEqual((sent.next_sequence, sent.error), (15, None))

    def test_what_was_accepted_before_an_error_stays(self) -> None:
        self.create("stays")
        web = local_client.opening("stays", "web")
        good = api.IngestRequest(batch=documents.batch_of(STREAM.seed, 0, 5))
        gap = api.IngestRequest(batch=documents.batch_of(STREAM.seed, 6, 5))
        with self.assertRaises(grpc.RpcError):
            local_client.ingest(self.server, web, good, gap)
        self.assertEqual(self.accepted("stays"), 5)

    def test_an_ended_stream_may_be_sent_again_but_not_grow(self) -> None:
        self.create("ended")
        stream = replace(STREAM, job="ended", end=50)
        for _ in range(2):
            sent = self.produce(stream)
            self.assertEqual((sent.next_sequence, sent.ended), (50, True))
        error = self.produce(replace(stream, end=60)).error
        assert error is not None
        self.assertEqual(error.reason, "STREAM_ENDED")


if __name__ == "__main__":
    unittest.main()
