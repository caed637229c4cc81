"""An evenpack-server of its own for a test, on ports that are free."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from agent_process import AgentProcess
from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2_grpc as rpc
from listening_process import ANY_PORT, ListeningProcess

PROGRAM = os.environ["EVENPACK_SERVER_PROGRAM"]
# Every client that a test starts reaches its server through a plan agent: what holds
# of the one must hold of the other.
THROUGH_AGENT = "EVENPACK_THROUGH_AGENT" in os.environ


class ServerProcess(ListeningProcess):
    """Serves when it is made. Leaving the context kills it."""

    def __init__(
        self,
        *flags: str,
        listen: str = ANY_PORT,
        http_listen: str | None = ANY_PORT,
        enter: Sequence[str] = (),
    ) -> None:
        """Starts it; without http_listen, the flags may say where.

        `enter`: goes before its command.
        """
        http = [] if http_listen is None else ["--http-listen", http_listen]
        super().__init__([*enter, PROGRAM, "--listen", listen, *http, *flags])
        self.agent: AgentProcess | None = None
        self.grpc_address = self.announced("grpc")
        if http_listen:
            self.http_address = self.announced("http")
        if THROUGH_AGENT:
            self.agent = AgentProcess(self.grpc_address, http=False)
            self.grpc_address = self.agent.grpc_address
        self.channel = open_channel(self.grpc_address)
        self.stub: rpc.PackingServiceStub = rpc.PackingServiceStub(self.channel)

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

    def resident_bytes(self) -> float:
        """Its memory."""
        return self.metric("process_resident_memory_bytes")
