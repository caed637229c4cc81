"""A server over one store on one port that is killed and started again."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
from child_process import ChildProcess, wait_until
from deadline_channel import open_channel
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from server_process import PROGRAM, ServerProcess

# So that nobody waits long for a server that is back.
RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
]
_POINT = re.compile(r'\bFaultPoint\("([a-z.]+)"\)')


def fault_points(sources: Path) -> list[str]:
    """The names of all fault points in the server's sources."""
    files = sorted((sources / "server").rglob("*.cc"))
    return [name for file in files for name in _POINT.findall(file.read_text())]


@dataclass(frozen=True)
class Position:
    """What a server that was started again said of a job."""

    # By time.monotonic_ns(), before it was asked.
    at: int
    job: job_pb2.Job


class MortalServer:
    """Runs when it is made. Leaving the context kills it for good."""

    def __init__(self, store: Path) -> None:
        """A server over a store, which it makes where there is none."""
        self._store = f"sqlite:{store}"
        first = ServerProcess("--store", self._store)
        self.address = first.grpc_address
        self._process: ChildProcess = first
        self._channel = open_channel(self.address, RECONNECT)
        self.stub: rpc.PackingServiceStub = rpc.PackingServiceStub(self._channel)
        self._positions: list[Position] = []

    def __enter__(self) -> Self:
        """The server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it."""
        self._channel.close()
        self._process.__exit__(kind, error, trace)

    def runs(self) -> bool:
        """Whether it lives."""
        return self._process.runs()

    def kill(self) -> None:
        """SIGKILL at this moment."""
        self._process.kill()

    def start(self, kill_at: str | None = None) -> None:
        """Starts it again; with NAME:COUNT it will die by itself at a fault point."""
        self._process.__exit__(None, None, None)
        command = [PROGRAM, "--listen", self.address, "--http-listen", ""]
        variables = {} if kill_at is None else {"EVENPACK_KILL_AT": kill_at}
        # What it announces isn't awaited: it may die before.
        self._process = ChildProcess([*command, "--store", self._store], variables)

    def ask(self, name: str) -> job_pb2.Job | None:
        """What it holds of a job; None if it died before it could say."""

        def answer() -> tuple[job_pb2.Job | None] | None:
            at = time.monotonic_ns()
            try:
                job = self.stub.GetJob(api.GetJobRequest(name=name)).job
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
                return None if self.runs() else (None,)
            self._positions.append(Position(at, job))
            return (job,)

        (job,) = wait_until(answer, "an answer of the server")
        return job

    def positions_of(self, name: str) -> list[Position]:
        """All that it said of a job."""
        return [each for each in self._positions if each.job.name == name]

    def await_death(self, at: str) -> None:
        """Waits until it was killed at a fault point."""
        try:
            status = self._process.wait()
        except TimeoutError:
            raise AssertionError(f"the server never came to {at}") from None
        if status != -signal.SIGKILL:
            raise AssertionError(
                f"exit status {status} instead of SIGKILL at {at}: "
                f"{self._process.stderr()}"
            )

    def terminate(self) -> int:
        """Asks it to stop; its exit status."""
        self._process.signal(signal.SIGTERM)
        return self._process.wait()
