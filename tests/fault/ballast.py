"""A job that makes a store write snapshots, drop records and checkpoint its log.

All of these take megabytes of records, which the documents of the job under test alone
would take minutes to make. The records of both share the store's commits.
"""

from __future__ import annotations

import time

import documents
import grpc
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from mortal_server import MortalServer
from worker_process import Told

NAME = "ballast"
STREAM = "heavy"
# Of a message, each of one token and with an id of ten bytes: a step takes them all.
DOCUMENTS = 1 << 16
# Messages, of about a megabyte each, until a server must have come to each of its
# fault points.
MOST_MESSAGES = 32


def spec() -> job_pb2.JobSpec:
    """Its shape."""
    return job_pb2.JobSpec(
        streams=[job_pb2.Stream(name=STREAM)],
        window=DOCUMENTS,
        policy=job_pb2.Policy(original=job_pb2.OriginalPolicy()),
    )


def batch(first: int) -> api.DocumentBatch:
    """One message's documents."""
    ids = range(documents.WIDE_ID + first, documents.WIDE_ID + first + DOCUMENTS)
    return api.DocumentBatch(first_sequence=first, length=[1] * DOCUMENTS, id=ids)


class Ballast:
    """The job on a server that may die in every call."""

    def __init__(self, server: MortalServer) -> None:
        """Makes the job."""
        self._server = server
        self.told: list[Told] = []
        request = api.CreateJobRequest(name=NAME, spec=spec())
        server.stub.CreateJob(request)

    def push_until_death(self) -> None:
        """Sends messages until the server has died of one."""
        for _ in range(MOST_MESSAGES):
            job = self._server.ask(NAME)
            if job is None:
                return
            try:
                self._push(job.streams[0].next_sequence)
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
        raise AssertionError(f"the server outlived {MOST_MESSAGES} messages")

    def _push(self, first: int) -> None:
        opening = api.OpenIngest(job=NAME, stream=STREAM)
        messages = [
            api.IngestRequest(open=opening),
            api.IngestRequest(batch=batch(first)),
        ]
        for answer in self._server.stub.Ingest(iter(messages)):
            at = time.monotonic_ns()
            self.told.append(Told(at, STREAM, "accepted", answer.next_sequence))
        # What is durable is let go, so that the snapshots stay small.
        mark = api.AcknowledgeRequest(job=NAME, step=first // DOCUMENTS)
        marked = self._server.stub.Acknowledge(mark)
        at = time.monotonic_ns()
        self.told.append(Told(at, "0", "durable", marked.durable_steps))
