"""Ingest and StreamSteps with wrong input: exact codes, messages and details."""

from __future__ import annotations

import unittest
from collections.abc import Iterable
from functools import partial

import digests
import grpc
import job_specs
import local_client
from call_refusal_test import SHAPE
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from local_client import batch, end_of_stream, opening, subscribing
from refusals import Refusal, RefusalTest, no_such_job, out_of_field
from server_process import THROUGH_AGENT, ServerProcess

MOST = 2**64 - 1
# Of the job below.
DOCUMENTS = 40
STEPS = 16
LET_GO = 3

TOO_MANY = Refusal(
    "RESOURCE_EXHAUSTED",
    ("there are 1 of this kind, as many as this server holds",),
    "TOO_MANY_CALLS",
    {"limit": "1"},
    quota="calls",
)

OPEN = opening("job", "web")
ENDED = opening("job", "code")

INGEST_CASES: list[tuple[list[api.IngestRequest], Refusal]] = [
    ([], out_of_field("message", "none", "open as the first of a call")),
    (
        [api.IngestRequest()],
        out_of_field("message", "another message", "open as the first of a call"),
    ),
    (
        [batch(length=[1])],
        out_of_field("message", "another message", "open as the first of a call"),
    ),
    ([OPEN, OPEN], out_of_field("message", "a second open", "batch or end_of_stream")),
    (
        [OPEN, api.IngestRequest()],
        out_of_field("message", "nothing", "batch or end_of_stream"),
    ),
    ([opening("other", "web")], no_such_job("other")),
    (
        [opening("job", "books")],
        Refusal(
            "NOT_FOUND",
            ("stream: 'books' is not one of the job's; accepted: 'web' and others",),
            "STREAM_NOT_FOUND",
            {"stream": "books"},
        ),
    ),
    ([OPEN, batch()], out_of_field("batch.length", "no value", "at least one")),
    (
        [OPEN, batch(first_sequence=DOCUMENTS, length=[1] * 1_048_577)],
        out_of_field("batch.length", "1048577 documents", "at most 1048576 documents"),
    ),
    (
        [OPEN, batch(first_sequence=DOCUMENTS, length=[1, 0])],
        out_of_field("batch.length[1]", 0, "1 to 6144 (max_length"),
    ),
    (
        [OPEN, batch(first_sequence=DOCUMENTS, length=[1, 6145])],
        out_of_field("batch.length[1]", 6145, "1 to 6144 (max_length"),
    ),
    (
        [OPEN, batch(length=[1, 1], id=[1])],
        out_of_field("batch.id", "1 values", "none, or as many as lengths: 2"),
    ),
    (
        [OPEN, batch(length=[1, 1], source=[1, 2, 3])],
        out_of_field("batch.source", "3 values", "none, or as many as lengths: 2"),
    ),
    (
        [OPEN, batch(length=[1, 1], loss_tokens=[1])],
        out_of_field("batch.loss_tokens", "1 values", "as many as lengths: 2"),
    ),
    (
        [OPEN, batch(first_sequence=DOCUMENTS, length=[1, 7], loss_tokens=[1, 8])],
        out_of_field("batch.loss_tokens[1]", 8, "0 to the document's length, 7"),
    ),
    (
        [OPEN, batch(first_sequence=MOST, length=[1])],
        out_of_field("batch.first_sequence", MOST, "carry past 2^64-1"),
    ),
    (
        [OPEN, batch(length=[1], token_ids=b"abcd")],
        out_of_field("batch.token_ids", "4 bytes", "travels by reference"),
    ),
    (
        [OPEN, batch(first_sequence=DOCUMENTS + 1, length=[1])],
        Refusal(
            "OUT_OF_RANGE",
            ("first_sequence: 41 leaves a gap in stream 'web'", "up to 40"),
            "SEQUENCE_GAP",
            {"stream": "web", "next_sequence": "40"},
        ),
    ),
    (
        [OPEN, batch(first_sequence=DOCUMENTS - 1, length=[1])],
        Refusal(
            "ABORTED",
            ("sequence 39 of stream 'web' was accepted with other content",),
            "CONTENT_DIFFERS",
            {"stream": "web", "next_sequence": "40"},
        ),
    ),
    (
        [OPEN, end_of_stream(DOCUMENTS - 1)],
        Refusal("OUT_OF_RANGE", ("documents: 39 is not how many", "accepted: 40")),
    ),
    (
        [ENDED, batch(first_sequence=DOCUMENTS, length=[1])],
        Refusal(
            "FAILED_PRECONDITION",
            ("stream 'code' ended after 40 documents",),
            "STREAM_ENDED",
            {"stream": "code", "next_sequence": "40"},
        ),
    ),
]


def received(step: int) -> api.StreamStepsRequest:
    """A mark that a step has arrived."""
    return api.StreamStepsRequest(received=api.Received(step=step))


def durable(step: int, epoch: int = 0) -> api.StreamStepsRequest:
    """A durable mark."""
    return api.StreamStepsRequest(durable=api.Durable(step=step, epoch=epoch))


def refused_subscribe(field: str, value: object, accepted: str) -> Refusal:
    """A field of the first message that is refused."""
    return out_of_field(f"subscribe.{field}", value, accepted)


SUBSCRIBE = subscribing("job")
CLAIM = subscribing("job", sends_durable=True)
OTHER = b"1" * 16

STEPS_CASES: list[tuple[list[api.StreamStepsRequest], Refusal]] = [
    ([], out_of_field("message", "none", "subscribe")),
    (
        [api.StreamStepsRequest()],
        out_of_field("message", "another message", "subscribe as the first"),
    ),
    (
        [received(0)],
        out_of_field("message", "another message", "subscribe as the first"),
    ),
    (
        [SUBSCRIBE, SUBSCRIBE],
        out_of_field("message", "a second subscribe", "received or durable"),
    ),
    (
        [SUBSCRIBE, api.StreamStepsRequest()],
        out_of_field("message", "nothing", "received or durable"),
    ),
    ([subscribing("other")], no_such_job("other")),
    ([subscribing("job", dp_rank=2)], refused_subscribe("dp_rank", 2, "0 to 1")),
    ([subscribing("job", cp_rank=2)], refused_subscribe("cp_rank", 2, "0 to 1")),
    (
        [subscribing("job", subscriber="a" * 257)],
        refused_subscribe("subscriber", "257 bytes", "0 to 256 bytes"),
    ),
    (
        [subscribing("job", credits=2**31)],
        refused_subscribe("credits", 2**31, f"1 to {2**31 - 1}"),
    ),
    (
        [subscribing("job", from_step=4, last_digest=b"123")],
        refused_subscribe("last_digest", "3 bytes", "16 bytes or none"),
    ),
    (
        [subscribing("job", last_digest=OTHER)],
        refused_subscribe("last_digest", "a digest without from_step", "together"),
    ),
    (
        [subscribing("job", layout=77)],
        refused_subscribe("layout", 77, "evenpack.v1.Layout"),
    ),
    (
        [subscribing("job", layout=job_pb2.LAYOUT_TE_THD)],
        Refusal(
            "FAILED_PRECONDITION",
            ("layout: te_thd is not accepted; accepted: native",),
            "LAYOUT_DIFFERS",
            {"layout": "native"},
        ),
    ),
    (
        [subscribing("job", epoch=1)],
        Refusal("ABORTED", ("the job is in epoch 0",), "EPOCH_ENDED", SHAPE),
    ),
    (
        [subscribing("job", from_step=LET_GO - 1)],
        Refusal(
            "OUT_OF_RANGE",
            (f"step: {LET_GO - 1} was let go", f"the oldest kept is {LET_GO}"),
            "STEP_LET_GO",
            {"oldest_step": f"{LET_GO}"},
        ),
    ),
    (
        [subscribing("job", from_step=4, last_digest=OTHER)],
        Refusal(
            "DATA_LOSS",
            (f"last_digest: {OTHER.hex()} is not that of step 3 here",),
            "HISTORY_DIFFERS",
        ),
    ),
    (
        [subscribing("job", from_step=STEPS + 1)],
        Refusal(
            "DATA_LOSS",
            (f"from_step: {STEPS + 1} is beyond", f"next step is {STEPS}"),
            "HISTORY_DIFFERS",
        ),
    ),
    (
        [SUBSCRIBE, received(STEPS)],
        Refusal("OUT_OF_RANGE", (f"received: step {STEPS} was not sent",)),
    ),
    (
        [SUBSCRIBE, durable(3)],
        Refusal(
            "FAILED_PRECONDITION",
            ("durable: this subscription does not send durable marks",),
            "DURABLE_NOT_CLAIMED",
        ),
    ),
    (
        [CLAIM, durable(STEPS)],
        Refusal("OUT_OF_RANGE", (f"step: {STEPS} is not decided; accepted: below",)),
    ),
    (
        [CLAIM, durable(3, epoch=2)],
        Refusal(
            "ABORTED",
            ("epoch: 2 is not that of step 3; accepted: 0",),
            "EPOCH_ENDED",
            {"epoch": "0"},
        ),
    ),
]


def names_of(messages: Iterable[object]) -> str:
    """The messages of a case in one line."""
    return " | ".join(" ".join(f"{message}".split()) for message in messages)


class StreamRefusalTest(RefusalTest):
    server: ServerProcess

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(ServerProcess())
        spec = job_specs.small_spec(roomy=True)
        local_client.create(cls.server, "job", spec)
        content = batch(length=[4000] * DOCUMENTS)
        local_client.ingest(cls.server, OPEN, content)
        local_client.ingest(cls.server, ENDED, content, end_of_stream(DOCUMENTS))
        job = local_client.get_job(cls.server, "job")
        assert job.next_step == STEPS, job.next_step
        local_client.acknowledge(cls.server, "job", LET_GO - 1, 2)

    def test_ingest(self) -> None:
        for messages, expected in INGEST_CASES:
            with self.subTest(names_of(messages)):
                error = self.refused(
                    partial(local_client.ingest, self.server, *messages)
                )
                self.check(error, expected, api.IngestRequest)

    def test_stream_steps(self) -> None:
        for messages, expected in STEPS_CASES:
            with self.subTest(names_of(messages)):
                error = self.refused(
                    partial(local_client.stream_steps, self.server, *messages)
                )
                self.check(error, expected, api.StreamStepsRequest)

    def test_bytes_that_are_no_message(self) -> None:
        # Text that is not UTF-8, which no client library would send.
        raw = bytes([0x0A, 4, 0x0A, 2, 0xFF, 0xFF])
        seat = api.OpenGroup(job="job", cp_size=2, member="a")
        for method, request, first in (
            ("Ingest", api.IngestRequest, OPEN),
            ("StreamSteps", api.StreamStepsRequest, SUBSCRIBE),
            ("JoinGroup", api.JoinGroupRequest, api.JoinGroupRequest(open=seat)),
        ):
            call: grpc.StreamStreamMultiCallable[bytes, bytes]
            call = self.server.channel.stream_stream(
                f"/evenpack.v1.PackingService/{method}"
            )
            accepted = request.DESCRIPTOR.full_name
            expected = out_of_field("message", "bytes that can't be read", accepted)
            for messages in ([raw], [first.SerializeToString(), raw]):
                with self.subTest(method, messages=len(messages)):
                    error = self.refused(lambda: list(call(iter(messages))))  # noqa: B023
                    self.check(error, expected, request)

    def test_a_refused_batch_changes_nothing(self) -> None:
        local_client.create(self.server, "whole", job_specs.small_spec())
        web = opening("whole", "web")
        good = batch(length=[5, 6])
        bad = batch(first_sequence=2, length=[7, 7000])
        self.refused(lambda: local_client.ingest(self.server, web, good, bad))
        job = local_client.get_job(self.server, "whole")
        self.assertEqual(job.streams[0].next_sequence, 2)
        self.assertEqual(job.streams[0].buffered_tokens, 11)
        answers = local_client.ingest(self.server, web, end_of_stream(2))
        self.assertEqual(answers[-1], api.IngestResponse(next_sequence=2, ended=True))

    @unittest.skipIf(THROUGH_AGENT, "the agent asks the server by calls of its own")
    def test_a_server_takes_so_many_subscriptions(self) -> None:
        with ServerProcess("--max-step-streams", "1") as server:
            local_client.create(server, "job", job_specs.small_spec())
            with local_client.open_steps(server, SUBSCRIBE) as steps:
                previous = steps.receive().subscribed.previous_digest
                self.assertEqual(previous, digests.GENESIS)
                error = self.refused(
                    partial(local_client.stream_steps, server, SUBSCRIBE)
                )
                self.check(error, TOO_MANY, api.StreamStepsRequest)

    def test_a_server_takes_so_many_producers(self) -> None:
        with ServerProcess("--max-ingest-streams", "1") as server:
            local_client.create(server, "job", job_specs.small_spec())
            with local_client.open_ingest(server, OPEN) as answers:
                self.assertEqual(answers.receive().next_sequence, 0)
                error = self.refused(partial(local_client.ingest, server, OPEN))
                self.check(error, TOO_MANY, api.IngestRequest)


if __name__ == "__main__":
    unittest.main()
