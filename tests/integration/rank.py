"""A program: follows the steps of one or many ranks, each as its task says.

The first line of standard input is a Task in JSON. Each line of standard output is an
object with the subscription's name and one of
  message      a StreamStepsResponse in base64, as it came
  reconnects   the code after which it subscribes again
  error        the google.rpc.Status with which the call ended, in base64; empty for OK
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
from dataclasses import dataclass, field
from typing import Any

import grpc
from call_error import error_of, status_of
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import step_pb2

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
    # Subscribe again where it left off when the call ends with UNAVAILABLE.
    reconnects: bool = False
    # Also when the job was reconfigured.
    follows_epochs: bool = False


@dataclass(frozen=True)
class Task:
    """Who follows what."""

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


class Follower:
    """Follows one subscription to its end."""

    def __init__(
        self, channel: grpc.Channel, asked: Subscription, allowance: Allowance
    ) -> None:
        """A subscription of a task; `allowance` ends its pauses."""
        # Answers are left as bytes.
        self._follow: grpc.StreamStreamMultiCallable[api.StreamStepsRequest, bytes]
        self._follow = channel.stream_stream(
            METHOD, request_serializer=api.StreamStepsRequest.SerializeToString
        )
        self._asked = asked
        self._allowance = allowance
        self._subscribe = api.Subscribe.FromString(base64.b64decode(asked.subscribe))
        self._steps = 0
        self._marked: api.Durable | None = None

    def run(self) -> None:
        """Until the call has ended for good."""
        ended = self._call()
        while ended is not None and self._goes_on_after(ended):
            print_event(self._asked.name, reconnects=ended.code().name)
            ended = self._call()
        raw = b"" if ended is None else status_of(ended).SerializeToString()
        print_event(self._asked.name, error=in_base64(raw))

    def _goes_on_after(self, ended: grpc.RpcError) -> bool:
        if ended.code() == grpc.StatusCode.ABORTED:
            ended_epoch = error_of(ended).reason == "EPOCH_ENDED"
            return self._asked.follows_epochs and ended_epoch
        return self._asked.reconnects and ended.code() == grpc.StatusCode.UNAVAILABLE

    def _call(self) -> grpc.RpcError | None:
        # None ends the requests.
        requests: queue.SimpleQueue[api.StreamStepsRequest | None] = queue.SimpleQueue()
        requests.put(api.StreamStepsRequest(subscribe=self._subscribe))
        if self._marked is not None:
            # It may have been lost with the call before.
            requests.put(api.StreamStepsRequest(durable=self._marked))
        call = self._follow(iter(requests.get, None), wait_for_ready=True)
        try:
            for raw in call:
                print_event(self._asked.name, message=in_base64(raw))
                response = api.StreamStepsResponse.FromString(raw)
                if response.HasField("step"):
                    self._take(response.step, requests)
                elif response.HasField("drained"):
                    requests.put(None)
                if self._steps == self._asked.steps:
                    call.cancel()
                    return None
        except grpc.RpcError as error:
            return error
        finally:
            requests.put(None)
        return None

    def _take(self, step: step_pb2.Step, requests: queue.SimpleQueue[Any]) -> None:
        self._steps += 1
        self._subscribe.from_step = step.index + 1
        self._subscribe.last_digest = step.digest
        if self._asked.paced or self._steps == self._asked.pause_after:
            self._allowance.await_step(self._steps)
        if self._asked.marks == "durable":
            self._marked = api.Durable(step=step.index, epoch=step.epoch)
            requests.put(api.StreamStepsRequest(durable=self._marked))
        if self._asked.marks != "none":
            received = api.Received(step=step.index)
            requests.put(api.StreamStepsRequest(received=received))


def main() -> None:
    """Reads the task and carries it out."""
    task = read_task(sys.stdin.readline())
    allowance = Allowance()

    def read_lines() -> None:
        for line in sys.stdin:
            allowance.take_line(line)

    threading.Thread(target=read_lines, daemon=True).start()
    with grpc.insecure_channel(task.server, options=task.options) as channel:
        threads = [
            threading.Thread(target=Follower(channel, asked, allowance).run)
            for asked in task.subscriptions
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
