"""A program: a job that must not notice what is done to its server meanwhile.

  guard_job.py HOST:PORT [CERTIFICATE]

With an authority's certificate it uses TLS and an operator's token (storm_callers).
For each line `step` of standard input it sends documents until there is a step, checks
it at both ranks, makes it durable and prints its number. For a line `end` it ends its
streams, checks that every document was in exactly one step, and prints how many there
were. Whatever else comes ends it with an exception.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import digests
import documents
import grpc
import job_specs
import step_checks
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from evenpack.v1 import step_pb2
from local_client import Conversation, batch, end_of_stream, opening, subscribing
from storm_callers import operator_credentials

JOB = "guard"
RANKS = 2
BATCH = 16


class Seen:
    """Which documents of a stream came."""

    def __init__(self) -> None:
        """None."""
        # All below this number, and some above.
        self.first_missing = 0
        self._later: set[int] = set()

    def add(self, sequence: int) -> None:
        """One that has not come before."""
        if sequence < self.first_missing or sequence in self._later:
            raise AssertionError(f"document {sequence} came twice")
        self._later.add(sequence)
        while self.first_missing in self._later:
            self._later.remove(self.first_missing)
            self.first_missing += 1


class Rank:
    """A subscription that marks each step durable."""

    def __init__(self, stub: rpc.PackingServiceStub, job: str, rank: int) -> None:
        """Subscribes from the first step."""
        asked = subscribing(job, dp_rank=rank, sends_durable=True)
        self._call = Conversation(stub.StreamSteps, asked)
        self._call.receive()

    def next_step(self) -> step_pb2.Step | None:
        """The next one; None when the job is drained."""
        while True:
            answer = self._call.receive()
            if answer.HasField("step"):
                break
            if answer.HasField("drained"):
                return None
        step: step_pb2.Step = answer.step
        durable = api.Durable(step=step.index, epoch=step.epoch)
        self._call.send(api.StreamStepsRequest(durable=durable))
        received = api.Received(step=step.index)
        self._call.send(api.StreamStepsRequest(received=received))
        return step


class Guard:
    """The job, its producers and its ranks."""

    def __init__(self, channel: grpc.Channel, job: str) -> None:
        """Creates the job and subscribes."""
        self._stub: rpc.PackingServiceStub = rpc.PackingServiceStub(channel)
        self._job = job
        spec = job_specs.small_spec(data=RANKS)
        self._stub.CreateJob(api.CreateJobRequest(name=job, spec=spec))
        self._producers = [
            Conversation(self._stub.Ingest, opening(job, stream))
            for stream in job_specs.STREAMS
        ]
        for producer in self._producers:
            producer.receive()
        self._ranks = [Rank(self._stub, job, rank) for rank in range(RANKS)]
        self._sent = 0
        self._steps = 0
        self._digest = digests.GENESIS
        self._seen = [Seen() for _ in job_specs.STREAMS]

    def _send(self) -> None:
        for seed, producer in enumerate(self._producers):
            lengths = documents.batch_of(seed, self._sent, BATCH).length
            producer.send(batch(first_sequence=self._sent, length=lengths))
        self._sent += BATCH
        for producer in self._producers:
            while producer.receive().next_sequence < self._sent:
                pass

    def _check_documents(self, step: step_pb2.Step) -> None:
        for (stream, sequence), pieces in step_checks.pieces_of([step]).items():
            length = documents.length_of(stream, sequence)
            if pieces != [(0, length, length)]:
                raise AssertionError(f"{stream}/{sequence} of {length}: {pieces}")
            self._seen[stream].add(sequence)

    def _check(self, parts: list[step_pb2.Step]) -> None:
        step_checks.check_ranks_agree([[part] for part in parts])
        for part in parts:
            if (part.index, part.previous_digest) != (self._steps, self._digest):
                raise AssertionError(f"step {part.index} does not follow {self._steps}")
            step_checks.check_digests(part)
            self._check_documents(part)
        self._steps += 1
        self._digest = parts[0].digest

    def _take(self) -> bool:
        parts = [rank.next_step() for rank in self._ranks]
        steps = [part for part in parts if part is not None]
        if len(steps) not in (0, RANKS):
            raise AssertionError("one rank was drained before the other")
        if steps:
            self._check(steps)
        return bool(steps)

    def step(self) -> int:
        """One step more; its number."""
        request = api.GetJobRequest(name=self._job)
        while self._stub.GetJob(request).job.next_step <= self._steps:
            self._send()
        if not self._take():
            raise AssertionError("drained before its end")
        return self._steps - 1

    def end(self) -> int:
        """The rest; how many documents there were."""
        for producer in self._producers:
            producer.send(end_of_stream(self._sent))
            producer.close()
            if not producer.rest()[-1].ended:
                raise AssertionError("the stream's end was not taken")
        while self._take():
            pass
        came = Counter(seen.first_missing for seen in self._seen)
        if came != {self._sent: len(self._seen)}:
            raise AssertionError(f"{self._sent} documents sent, these came: {came}")
        self._stub.DeleteJob(api.DeleteJobRequest(name=self._job))
        return self._sent * len(self._seen)


def main() -> None:
    """Does what the lines say."""
    credentials = operator_credentials(Path(sys.argv[2])) if sys.argv[2:] else None
    if credentials is None:
        opened = grpc.insecure_channel(sys.argv[1])
    else:
        opened = grpc.secure_channel(sys.argv[1], credentials)
    with opened as channel:
        guard = Guard(channel, JOB)
        print("ready", flush=True)
        for line in sys.stdin:
            number = guard.step() if line.strip() == "step" else guard.end()
            print(number, flush=True)
            if line.strip() == "end":
                return


if __name__ == "__main__":
    main()
