"""The programs rank.py and producer.py as a test sees them."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import producer
import rank
from call_error import CallError, error_of_status
from child_process import ChildProcess
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import step_pb2
from google.rpc import status_pb2

_FOLDER = Path(__file__).resolve().parent


def subscription(
    name: str,
    subscribe: api.Subscribe,
    marks: str = "durable",
    *,
    steps: int | None = None,
    pause_after: int | None = None,
    reconnects: bool = False,
    paced: bool = False,
    interval: float | None = None,
    follows_epochs: bool = False,
) -> rank.Subscription:
    """A subscription that sends what its marks need."""
    asked = api.Subscribe()
    asked.CopyFrom(subscribe)
    asked.sends_durable = marks == "durable"
    raw = base64.b64encode(asked.SerializeToString()).decode()
    return rank.Subscription(
        name,
        raw,
        marks,
        steps,
        pause_after,
        reconnects=reconnects,
        paced=paced,
        interval=interval,
        follows_epochs=follows_epochs,
    )


def _error_in(event: dict[str, Any]) -> CallError | None:
    raw = base64.b64decode(event["error"])
    return error_of_status(status_pb2.Status.FromString(raw)) if raw else None


@dataclass(frozen=True, order=True)
class Told:
    """Something that a client learned from the server."""

    # By time.monotonic_ns(), which all processes of a machine share.
    at: int
    client: str
    # "accepted": documents of its stream; "step": the index of one that it received;
    # "durable": steps that are; "lost": its connection.
    what: str
    number: int = 0
    # Of the step.
    digest: bytes = b""


class WorkerProcess(ChildProcess):
    """A Python program that is given a task and reports events."""

    def __init__(self, program: str, task: object) -> None:
        """Starts the program of this folder."""
        super().__init__([sys.executable, "-B", str(_FOLDER / program)])
        # What its clients were told, each in its order.
        self.history: list[Told] = []
        self.write_line(json.dumps(task))

    def _note(
        self, event: dict[str, Any], what: str, number: int = 0, digest: bytes = b""
    ) -> None:
        self.history.append(Told(event["at"], event["name"], what, number, digest))

    def next_event(self) -> dict[str, Any] | None:
        """What it reports next; None once it has ended."""
        line = self.next_line()
        if line is None:
            return None
        event: dict[str, Any] = json.loads(line)
        return event

    def finish(self) -> None:
        """Waits for its end, which must be a good one."""
        while self.next_event() is not None:
            pass
        status = self.wait()
        if status != 0:
            raise AssertionError(f"exit status {status}: {self.stderr()}")


@dataclass
class Followed:
    """What a subscription got so far."""

    subscribed: api.Subscribed | None = None
    steps: list[step_pb2.Step] = field(default_factory=list)
    # The responses that these came in.
    raw_steps: list[bytes] = field(default_factory=list)
    durable_steps: int = 0
    drained: api.Drained | None = None
    reconnects: int = 0
    # Steps that weren't there when they were due.
    waits: list[int] = field(default_factory=list)
    ended: bool = False
    error: CallError | None = None

    def take(self, response: api.StreamStepsResponse, raw: bytes) -> None:
        """Adds a response, which came as these bytes."""
        if response.HasField("subscribed"):
            self.subscribed = response.subscribed
        elif response.HasField("step"):
            self.steps.append(response.step)
            self.raw_steps.append(raw)
        elif response.HasField("durable_marked"):
            self.durable_steps = response.durable_marked.durable_steps
        else:
            self.drained = response.drained


class RankProcess(WorkerProcess):
    """Ranks that follow their steps."""

    def __init__(
        self,
        server: str,
        subscriptions: Iterable[rank.Subscription],
        options: Iterable[tuple[str, int]] = (),
    ) -> None:
        """Starts them; `options` are channel arguments."""
        asked = list(subscriptions)
        super().__init__("rank.py", asdict(rank.Task(server, asked, list(options))))
        self.followed = {each.name: Followed() for each in asked}

    def take_event(self) -> Followed | None:
        """Reads one event; the subscription that it is of, None at the end."""
        event = self.next_event()
        if event is None:
            return None
        followed = self.followed[event["name"]]
        if "message" in event:
            raw = base64.b64decode(event["message"])
            response = api.StreamStepsResponse.FromString(raw)
            followed.take(response, raw)
            self._note_response(event, response)
        elif "reconnects" in event:
            self._note(event, "lost")
            followed.reconnects += 1
        elif "waits" in event:
            followed.waits.append(event["waits"])
        else:
            followed.ended = True
            followed.error = _error_in(event)
        return followed

    def _note_response(
        self, event: dict[str, Any], response: api.StreamStepsResponse
    ) -> None:
        if response.HasField("subscribed"):
            self._note(event, "durable", response.subscribed.durable_steps)
        elif response.HasField("step"):
            self._note(event, "step", response.step.index, response.step.digest)
        elif response.HasField("durable_marked"):
            self._note(event, "durable", response.durable_marked.durable_steps)

    def allow(self, steps: int | None) -> None:
        """Lets those that pause take so many steps; None: all."""
        self.write_line("all" if steps is None else f"{steps}")

    def _take_some(self) -> None:
        if self.take_event() is None:
            raise AssertionError(f"the ranks ended early: {self.stderr()}")

    def await_subscribed(self) -> None:
        """Waits until all have their first answer."""
        while not all(each.subscribed for each in self.followed.values()):
            self._take_some()

    def await_steps(self, name: str, count: int) -> list[step_pb2.Step]:
        """Waits until the subscription has so many steps."""
        while len(self.followed[name].steps) < count:
            self._take_some()
        return self.followed[name].steps

    def await_end(self, name: str) -> Followed:
        """Waits until the subscription's call has ended."""
        while not self.followed[name].ended:
            self._take_some()
        return self.followed[name]

    def await_all(self) -> dict[str, Followed]:
        """Waits for the end of all, and of the process."""
        for name in self.followed:
            self.await_end(name)
        self.finish()
        return self.followed


@dataclass
class Sent:
    """What a producer's call came to so far."""

    next_sequence: int | None = None
    ended: bool = False
    reconnects: int = 0
    error: CallError | None = None


class ProducerProcess(WorkerProcess):
    """Producers that send their streams."""

    def __init__(
        self,
        server: str,
        streams: Iterable[producer.Stream],
        options: Iterable[tuple[str, int]] = (),
    ) -> None:
        """Starts them; `options` are channel arguments."""
        asked = list(streams)
        task = producer.Task(server, asked, list(options))
        super().__init__("producer.py", asdict(task))
        self.streams = {each.name: Sent() for each in asked}

    def take_event(self) -> Sent | None:
        """Reads one event; the stream that it is of, None at the end."""
        event = self.next_event()
        if event is None:
            return None
        stream = self.streams[event["name"]]
        if "next_sequence" in event:
            told = event["next_sequence"]
            # Whatever became of the server meanwhile.
            if told < (stream.next_sequence or 0):
                raise AssertionError(
                    f"{told} documents are accepted after {stream.next_sequence} were"
                )
            self._note(event, "accepted", told)
            stream.next_sequence = told
            stream.ended = event["ended"]
        elif "reconnects" in event:
            self._note(event, "lost")
            stream.reconnects += 1
        else:
            stream.error = _error_in(event)
        return stream

    def await_accepted(self, name: str, documents: int) -> None:
        """Waits until so many documents are accepted."""
        while (self.streams[name].next_sequence or 0) < documents:
            if self.take_event() is None:
                raise AssertionError(f"the producer ended early: {self.stderr()}")

    def await_all(self) -> dict[str, Sent]:
        """Waits for the end of all, and of the process."""
        while self.take_event() is not None:
            pass
        self.finish()
        return self.streams
