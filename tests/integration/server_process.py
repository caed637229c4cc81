"""An evenpack-server of its own for a test, on ports that are free."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from types import TracebackType
from typing import Self

from agent_process import AgentProcess
from child_process import DEADLINE, ChildProcess
from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2_grpc as rpc

PROGRAM = os.environ["EVENPACK_SERVER_PROGRAM"]
ANY_PORT = "127.0.0.1:0"
# Every client that a test starts reaches its server through a plan agent: what holds
# of the one must hold of the other.
THROUGH_AGENT = "EVENPACK_THROUGH_AGENT" in os.environ


class ServerProcess(ChildProcess):
    """Serves when it is made. Leaving the context kills it."""

    def __init__(
        self, *flags: str, listen: str = ANY_PORT, http_listen: str | None = ANY_PORT
    ) -> None:
        """Starts it; without http_listen, the flags may say where."""
        http = [] if http_listen is None else ["--http-listen", http_listen]
        super().__init__([PROGRAM, "--listen", listen, *http, *flags])
        self.http_address = ""
        self.agent: AgentProcess | None = None
        try:
            self.grpc_address = self._announced("grpc")
            if http_listen:
                self.http_address = self._announced("http")
            if THROUGH_AGENT:
                self.agent = AgentProcess(self.grpc_address, http=False)
                self.grpc_address = self.agent.grpc_address
        except AssertionError:
            super().__exit__(None, None, None)
            raise
        self.channel = open_channel(self.grpc_address)
        self.stub: rpc.PackingServiceStub = rpc.PackingServiceStub(self.channel)

    def _announced(self, kind: str) -> str:
        line = self.next_line() or ""
        prefix = f"{kind} listening on "
        if not line.startswith(prefix):
            raise AssertionError(f"'{line}' instead of '{prefix}'; {self.stderr()}")
        return line.removeprefix(prefix)

    def __enter__(self) -> Self:
        """The server, which serves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it."""
        self.channel.close()
        if self.agent is not None:
            self.agent.__exit__(kind, error, trace)
        super().__exit__(kind, error, trace)

    def terminate(self) -> int:
        """Asks it to stop; its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def get(self, path: str) -> tuple[int, str]:
        """The status and text of a page of its HTTP port."""
        url = f"http://{self.http_address}{path}"
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self) -> str:
        """The text of /metrics."""
        status, text = self.get("/metrics")
        if status != 200:
            raise AssertionError(f"/metrics answered {status}: {text}")
        return text

    def metric(self, series: str) -> float:
        """The value of one series, named as /metrics writes it."""
        for line in self.metrics().splitlines():
            name, _, value = line.rpartition(" ")
            if name == series:
                return float(value)
        raise AssertionError(f"/metrics has no series {series}")

    def resident_bytes(self) -> float:
        """Its memory."""
        return self.metric("process_resident_memory_bytes")
