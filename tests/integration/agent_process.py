"""A node's plan agent of its own for a test, on ports that are free."""

from __future__ import annotations

import os
import urllib.request
from types import TracebackType
from typing import Self

from child_process import DEADLINE, ChildProcess
from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2_grpc as rpc

WORKER = os.environ.get("EVENPACK_WORKER_PROGRAM", "")
ANY = "127.0.0.1:0"


class AgentProcess(ChildProcess):
    """Serves when it is made. Leaving the context kills it."""

    def __init__(
        self, server_address: str, *flags: str, listen: str = ANY, http: bool = True
    ) -> None:
        """Starts it, in front of a server that need not be there yet."""
        addresses = ["--server", server_address, "--listen", listen]
        more = ["--http-listen", ANY] if http else []
        super().__init__([WORKER, "--agent", *addresses, *more, *flags])
        try:
            self.grpc_address = self._announced("grpc")
            self.http_address = self._announced("http") if http else ""
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
        """The agent, which serves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it."""
        self.channel.close()
        super().__exit__(kind, error, trace)

    def metrics(self) -> str:
        """The text of /metrics."""
        url = f"http://{self.http_address}/metrics"
        with urllib.request.urlopen(url, timeout=DEADLINE) as response:
            return str(response.read().decode())

    def metric(self, name: str) -> float:
        """The value of one of its own series."""
        for line in self.metrics().splitlines():
            series, _, value = line.rpartition(" ")
            if series == f"evenpack_agent_{name}":
                return float(value)
        raise AssertionError(f"/metrics has no series evenpack_agent_{name}")
