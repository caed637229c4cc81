"""A program: follows the steps of one or many ranks, each as its task says.

The first line of standard input is a Task in JSON. Each line of standard output is an
object with the subscription's name and one of
  message      a StreamStepsResponse in base64, as it came
  reconnects   the code after which it subscribes again
  error        the google.rpc.Status with which the call ended, in base64; empty for OK
  waits        the number of a step that was not there when it was due
and with when it happened, by time.monotonic_ns().
Each later line of standard input says how many steps each that pauses may take, a line
that is no number that it may take all.
"""

from __future__ import annotations

import base64
import json
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from call_error import error_of, status_of
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import step_pb2
from leader_channel import LeaderChannel, is_lost

_PRINTING = threading.Lock()
METHOD = "/evenpack.v1.PackingService/StreamSteps"


@dataclass(frozen=True)
class Subscription:
    """What one rank asks for and how it behaves."""

    name: str
    # evenpack.v1.Subscribe in base64.
    subscribe: str
    # After each step: "received", "durable" (and received), or "none".
    marks: str = "durable"
    # Cancel the call after so many steps.
    steps: int | None = None
    # Read no more after so many steps, until a line allows more.
    pause_after: int | None = None
    # Read no more steps than the lines allowed so far.
    paced: bool = False
    # Take a step so often, seconds, once `credits` steps wait in the client, and say
    # which were not there, until a line allows all.
    interval: float | None = None
    # Subscribe again where it left off when the call is lost.
    reconnects: bool = False
    # Also when the job was reconfigured.
    follows_epochs: bool = False


@dataclass(frozen=True)
class Task:
    """Who follows what."""

    # Or several that share jobs: A,B,C.
    server: str
    subscriptions: list[Subscription]
    # Channel arguments.
    options: list[tuple[str, int]] = field(default_factory=list)


def read_task(line: str) -> Task:
    """The task that `json.dumps(asdict(task))` wrote."""
    values: dict[str, Any] = json.loads(line)
    subscriptions = [Subscription(**each) for each in values["subscriptions"]]
    options = [(name, value) for name, value in values["options"]]
    return Task(values["server"], subscriptions, options)


def print_event(name: str, **content: object) -> None:
    """One line of standard output, in one piece whatever other threads print."""
    line = json.dumps({"name": name, "at": time.monotonic_ns(), **content})
    with _PRINTING:
        print(line, flush=True)


def in_base64(raw: bytes) -> str:
    """Bytes as JSON can hold them."""
    return base64.b64encode(raw).decode()


class Allowance:
    """How many steps those that pause may take."""

    def __init__(self) -> None:
        """None yet."""
        self._changed = threading.Condition()
        self._steps = 0

    def take_line(self, line: str) -> None:
        """What a line of standard input allows."""
        with self._changed:
            self._steps = int(line) if line.strip().isdigit() else sys.maxsize
            self._changed.notify_all()

    def await_step(self, count: int) -> None:
        """Returns when that many steps and one more may be taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._steps > count)

    def await_due(self, due: float) -> None:
        """Returns at that time, or when all may be taken."""
        with self._changed:
            left = due - time.monotonic()
            self._changed.wait_for(self._allows_all, max(left, 0.0))

    def allows_all(self) -> bool:
        """Whether a line said so."""
        with self._changed:
            return self._allows_all()

    def _allows_all(self) -> bool:
        return self._steps == sys.maxsize


class Trainer:
    """Takes steps at a pace from those that were fetched for it."""

    def __init__(
        self,
        asked: Subscription,
        cushion: int,
        allowance: Allowance,
        take: Callable[[step_pb2.Step], None],
    ) -> None:
        """Begins when so many steps wait."""
        self._asked = asked
        self._cushion = cushion
        self._allowance = allowance
        self._take = take
        self._changed = threading.Condition()
        self._waiting: deque[step_pb2.Step] = deque()
        self._begun = False
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, step: step_pb2.Step) -> None:
        """One more waits."""
        with self._changed:
            self._waiting.append(step)
            self._begun = self._begun or len(self._waiting) >= self._cushion
            self._changed.notify_all()

    def await_taken(self) -> None:
        """Returns when all were taken: there are no more."""
        with self._changed:
            self._begun = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting)

    def _await_step(self) -> step_pb2.Step:
        with self._changed:
            was_there = not self._begun or self._waiting
            self._changed.wait_for(lambda: self._begun and self._waiting)
            step = self._waiting[0]
        if not was_there and not self._allowance.allows_all():
            print_event(self._asked.name, waits=step.index)
        return step

    def _run(self) -> None:
        due = 0.0
        while True:
            self._take(self._await_step())
            with self._changed:
                self._waiting.popleft()
                self._changed.notify_all()
            due = max(due, time.monotonic()) + (self._asked.interval or 0.0)
            self._allowance.await_due(due)


class Follower:
    """Follows one subscription to its end."""

    def __init__(
        self, leader: LeaderChannel, asked: Subscription, allowance: Allowance
    ) -> None:
        """A subscription of a task; `allowance` ends its pauses."""
        self._leader = leader
        self._asked = asked
        self._allowance = allowance
        self._subscribe = api.Subscribe.FromString(base64.b64decode(asked.subscribe))
        self._steps = 0
        self._marked: api.Durable | None = None
        # Of the call. None ends them.
        self._requests: queue.SimpleQueue[api.StreamStepsRequest | None]
        self._requests = queue.SimpleQueue()
        self._trainer: Trainer | None = None
        if asked.interval is not None:
            cushion = self._subscribe.credits
            self._trainer = Trainer(asked, cushion, allowance, self._mark)

    def run(self) -> None:
        """Until the call has ended for good."""
        ended = self._call()
        while ended is not None and self._goes_on_after(ended):
            print_event(self._asked.name, reconnects=ended.code().name)
            self._leader.turn(ended)
            ended = self._call()
        raw = b"" if ended is None else status_of(ended).SerializeToString()
        print_event(self._asked.name, error=in_base64(raw))

    def _goes_on_after(self, ended: grpc.RpcError) -> bool:
        if ended.code() == grpc.StatusCode.ABORTED:
            ended_epoch = error_of(ended).reason == "EPOCH_ENDED"
            return self._asked.follows_epochs and ended_epoch
        return self._asked.reconnects and is_lost(ended)

    def _call(self) -> grpc.RpcError | None:
        requests: queue.SimpleQueue[api.StreamStepsRequest | None] = queue.SimpleQueue()
        requests.put(api.StreamStepsRequest(subscribe=self._subscribe))
        self._requests = requests
        if self._marked is not None:
            # It may have been lost with the call before.
            requests.put(api.StreamStepsRequest(durable=self._marked))
        # Answers are left as bytes.
        follow: grpc.StreamStreamMultiCallable[api.StreamStepsRequest, bytes]
        follow = self._leader.channel.stream_stream(
            METHOD, request_serializer=api.StreamStepsRequest.SerializeToString
        )
        waits = self._leader.waits
        call = follow(iter(requests.get, None), wait_for_ready=waits)
        try:
            for raw in call:
                print_event(self._asked.name, message=in_base64(raw))
                response = api.StreamStepsResponse.FromString(raw)
                if response.HasField("step"):
                    self._take(response.step)
                elif response.HasField("drained"):
                    if self._trainer is not None:
                        self._trainer.await_taken()
                    requests.put(None)
                if self._steps == self._asked.steps:
                    call.cancel()
                    return None
        except grpc.RpcError as error:
            return error
        finally:
            requests.put(None)
        return None

    def _take(self, step: step_pb2.Step) -> None:
        self._steps += 1
        self._subscribe.from_step = step.index + 1
        self._subscribe.last_digest = step.digest
        if self._asked.paced or self._steps == self._asked.pause_after:
            self._allowance.await_step(self._steps)
        if self._trainer is None:
            self._mark(step)
        else:
            self._trainer.put(step)

    def _mark(self, step: step_pb2.Step) -> None:
        if self._asked.marks == "durable":
            self._marked = api.Durable(step=step.index, epoch=step.epoch)
            self._requests.put(api.StreamStepsRequest(durable=self._marked))
        if self._asked.marks != "none":
            received = api.Received(step=step.index)
            self._requests.put(api.StreamStepsRequest(received=received))


def main() -> None:
    """Reads the task and carries it out."""
    task = read_task(sys.stdin.readline())
    allowance = Allowance()

    def read_lines() -> None:
        for line in sys.stdin:
            allowance.take_line(line)

    def follow(asked: Subscription) -> None:
        # The leader is each job's own; connections are shared all the same.
        with LeaderChannel(task.server, task.options) as leader:
            Follower(leader, asked, allowance).run()

    threading.Thread(target=read_lines, daemon=True).start()
    threads = [
        threading.Thread(target=follow, args=(asked,)) for asked in task.subscriptions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
