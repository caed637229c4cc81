"""A program: sends the documents of one or many streams, each as its task says.

The first line of standard input is a Task in JSON. Each line of standard output is an
object with the stream's name and one of
  next_sequence, ended   what the server accepted so far
  reconnects             the code after which it goes on where the server says
  error                  the google.rpc.Status with which the call ended, in base64;
                         empty for OK
and with when it happened, by time.monotonic_ns().
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import documents
import grpc
from call_error import status_of
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from leader_channel import LeaderChannel, is_lost
from rank import in_base64, print_event


@dataclass(frozen=True)
class Stream:
    """Documents `first` to `end - 1` of the stream made of a seed."""

    name: str
    job: str
    stream: str
    seed: int
    end: int
    first: int = 0
    # Documents of a message.
    batch: int = 64
    # Say that the stream has ended there.
    ends: bool = True
    # Give each document an id of ten bytes, so that there is more to send.
    wide: bool = False
    # Go on when the call is lost.
    reconnects: bool = False


@dataclass(frozen=True)
class Task:
    """What is sent to whom."""

    # Or several that share jobs: A,B,C.
    server: str
    streams: list[Stream]
    # Channel arguments.
    options: list[tuple[str, int]] = field(default_factory=list)


def read_task(line: str) -> Task:
    """The task that `json.dumps(asdict(task))` wrote."""
    values: dict[str, Any] = json.loads(line)
    streams = [Stream(**each) for each in values["streams"]]
    options = [(name, value) for name, value in values["options"]]
    return Task(values["server"], streams, options)


def messages_of(stream: Stream) -> Iterator[api.IngestRequest]:
    """The stream's messages, as fast as the transport takes them."""
    opening = api.OpenIngest(job=stream.job, stream=stream.stream)
    yield api.IngestRequest(open=opening)
    for first in range(stream.first, stream.end, stream.batch):
        count = min(stream.batch, stream.end - first)
        batch = documents.batch_of(stream.seed, first, count)
        if stream.wide:
            batch.id.extend(documents.WIDE_ID + first + i for i in range(count))
        yield api.IngestRequest(batch=batch)
    if stream.ends:
        end = api.EndOfStream(documents=stream.end)
        yield api.IngestRequest(end_of_stream=end)


def position_of(stream: Stream, leader: LeaderChannel) -> int:
    """The document that the server expects next."""
    opening = api.OpenIngest(job=stream.job, stream=stream.stream)
    opened = api.IngestRequest(open=opening)
    stub: rpc.PackingServiceStub = rpc.PackingServiceStub(leader.channel)
    (answer,) = stub.Ingest(iter([opened]), wait_for_ready=leader.waits)
    print_event(stream.name, next_sequence=answer.next_sequence, ended=answer.ended)
    return answer.next_sequence


def send_once(stream: Stream, leader: LeaderChannel) -> None:
    """One call of Ingest, to its end."""
    if stream.reconnects:
        stream = replace(stream, first=position_of(stream, leader))
    stub: rpc.PackingServiceStub = rpc.PackingServiceStub(leader.channel)
    for answer in stub.Ingest(messages_of(stream), wait_for_ready=leader.waits):
        print_event(stream.name, next_sequence=answer.next_sequence, ended=answer.ended)


def send(stream: Stream, leader: LeaderChannel) -> None:
    """All that the stream has."""
    while True:
        try:
            send_once(stream, leader)
        except grpc.RpcError as error:
            if stream.reconnects and is_lost(error):
                print_event(stream.name, reconnects=error.code().name)
                leader.turn(error)
                continue
            raw = status_of(error).SerializeToString()
            return print_event(stream.name, error=in_base64(raw))
        return print_event(stream.name, error="")


def main() -> None:
    """Reads the task and carries it out."""
    task = read_task(sys.stdin.readline())

    def send_to_leader(stream: Stream) -> None:
        # The leader is each job's own; connections are shared all the same.
        with LeaderChannel(task.server, task.options) as leader:
            send(stream, leader)

    threads = [
        threading.Thread(target=send_to_leader, args=(stream,))
        for stream in task.streams
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
