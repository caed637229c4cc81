"""Calls made from a test's own process: short streams, whole answers."""

from __future__ import annotations

import queue
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

import documents
import grpc
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess

Request = TypeVar("Request")
Response = TypeVar("Response")


def create(server: ServerProcess, name: str, spec: job_pb2.JobSpec) -> job_pb2.Job:
    """A new job."""
    return server.stub.CreateJob(api.CreateJobRequest(name=name, spec=spec)).job


def get_job(server: ServerProcess, name: str) -> job_pb2.Job:
    """What the server holds of a job."""
    return server.stub.GetJob(api.GetJobRequest(name=name)).job


def opening(job: str, stream: str) -> api.IngestRequest:
    """The first message of Ingest."""
    return api.IngestRequest(open=api.OpenIngest(job=job, stream=stream))


def batch(**columns: object) -> api.IngestRequest:
    """Documents by their columns."""
    return api.IngestRequest(batch=api.DocumentBatch(**columns))  # type: ignore[arg-type]


def end_of_stream(count: int) -> api.IngestRequest:
    """The end of a stream of so many documents."""
    return api.IngestRequest(end_of_stream=api.EndOfStream(documents=count))


def ingest(
    server: ServerProcess, *messages: api.IngestRequest
) -> list[api.IngestResponse]:
    """All answers to a call of Ingest with these messages."""
    return list(server.stub.Ingest(iter(messages)))


def fill(
    server: ServerProcess,
    job: str,
    streams: Iterable[str],
    count: int,
    *,
    first: int = 0,
    ends: bool = True,
) -> None:
    """Sends each stream documents up to `count`, of the seeds 0, 1 and so on."""
    for seed, stream in enumerate(streams):
        sent = api.IngestRequest(batch=documents.batch_of(seed, first, count - first))
        last = [end_of_stream(count)] if ends else []
        ingest(server, opening(job, stream), sent, *last)


def subscribing(job: str, **fields: object) -> api.StreamStepsRequest:
    """The first message of StreamSteps."""
    asked = api.Subscribe(job=job, **fields)  # type: ignore[arg-type]
    return api.StreamStepsRequest(subscribe=asked)


def stream_steps(
    server: ServerProcess, *messages: api.StreamStepsRequest
) -> list[api.StreamStepsResponse]:
    """All answers to these messages; the call ends where nothing more is due."""
    return list(server.stub.StreamSteps(iter(messages)))


def steps_of(
    server: ServerProcess, job: str, *, from_step: int | None = None, **fields: object
) -> list[step_pb2.Step]:
    """Steps that are decided and kept, as one subscription gets them."""
    held = get_job(server, job)
    first = held.oldest_step if from_step is None else from_step
    count = held.next_step - first
    # The call ends when its credits are used.
    asked = subscribing(job, from_step=first, credits=max(count, 1), **fields)
    answers = stream_steps(server, asked) if count > 0 else []
    return [each.step for each in answers if each.HasField("step")]


def acknowledge(server: ServerProcess, job: str, step: int, ranks: int) -> list[int]:
    """Makes steps up to this one durable at each rank; what each is told."""
    return [
        server.stub.Acknowledge(
            api.AcknowledgeRequest(job=job, dp_rank=rank, step=step)
        ).durable_steps
        for rank in range(ranks)
    ]


class Conversation(Generic[Request, Response]):
    """A stream both ways whose messages are sent and awaited one by one."""

    def __init__(
        self,
        method: grpc.StreamStreamMultiCallable[Request, Response],
        *messages: Request,
    ) -> None:
        """Opens the call with its first messages."""
        self._messages: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        for message in messages:
            self._messages.put(message)
        self._call = method(iter(self._messages.get, None))

    def __enter__(self) -> Self:
        """Nothing more: the call is open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves no half of the call open."""
        self._messages.put(None)
        self._call.cancel()

    def send(self, message: Request) -> None:
        """One more message."""
        self._messages.put(message)

    def close(self) -> None:
        """No more messages."""
        self._messages.put(None)

    def receive(self) -> Response:
        """The next answer; an error of the call is raised."""
        return next(self._call)

    def rest(self) -> list[Response]:
        """All answers to come, to the call's good end."""
        return list(self._call)


def open_ingest(
    server: ServerProcess, *messages: api.IngestRequest
) -> Conversation[api.IngestRequest, api.IngestResponse]:
    """A call of Ingest that stays open."""
    return Conversation(server.stub.Ingest, *messages)


def open_steps(
    server: ServerProcess, *messages: api.StreamStepsRequest
) -> Conversation[api.StreamStepsRequest, api.StreamStepsResponse]:
    """A call of StreamSteps that stays open."""
    return Conversation(server.stub.StreamSteps, *messages)
