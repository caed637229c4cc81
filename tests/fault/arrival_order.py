"""The order in which a job of MERGE_MODE_ARRIVAL took its documents, and its replay.

The policy `original` puts documents into its steps in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import documents
import local_client
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import step_pb2
from server_process import ServerProcess

# Of each DP rank, all steps.
Ranks = Sequence[Sequence[step_pb2.Step]]


@dataclass
class Run:
    """Documents of one stream that came one after another."""

    stream: int
    first: int
    count: int


def order_of(ranks: Ranks) -> list[Run]:
    """The documents in their order; each stream's without a gap."""
    order: list[Run] = []
    following: dict[int, int] = {}
    for parts in zip(*ranks, strict=True):
        for part in parts:
            for micro_batch in part.micro_batches:
                held = micro_batch.documents
                streams = held.stream or [0] * len(held.sequence)
                for stream, sequence in zip(streams, held.sequence, strict=True):
                    if sequence != following.get(stream, 0):
                        raise AssertionError(
                            f"step {part.index}: document {sequence} of stream {stream}"
                            f" where {following.get(stream, 0)} was due"
                        )
                    following[stream] = sequence + 1
                    if order and order[-1].stream == stream:
                        order[-1].count += 1
                    else:
                        order.append(Run(stream, sequence, 1))
    return order


def send(
    server: ServerProcess, job: str, streams: Sequence[str], order: Sequence[Run]
) -> None:
    """Sends them in that order, each run once the one before it is accepted."""
    with ExitStack() as stack:
        calls = []
        for stream in streams:
            call = local_client.open_ingest(server, local_client.opening(job, stream))
            calls.append(stack.enter_context(call))
            call.receive()
        sent = [0] * len(streams)
        for run in order:
            # The seed of a stream is its place.
            batch = documents.batch_of(run.stream, run.first, run.count)
            calls[run.stream].send(api.IngestRequest(batch=batch))
            sent[run.stream] += run.count
            if calls[run.stream].receive().next_sequence != sent[run.stream]:
                raise AssertionError(f"{run} was not accepted as a whole")
        for call, count in zip(calls, sent, strict=True):
            call.send(local_client.end_of_stream(count))
            call.receive()
            call.close()
