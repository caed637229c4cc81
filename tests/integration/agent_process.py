"""A node's plan agent of its own for a test, on ports that are free."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2_grpc as rpc
from listening_process import ANY_PORT, ListeningProcess

WORKER = os.environ.get("EVENPACK_WORKER_PROGRAM", "")


class AgentProcess(ListeningProcess):
    """Serves when it is made. Leaving the context kills it."""

    def __init__(
        self,
        server_address: str,
        *flags: str,
        listen: str = ANY_PORT,
        http: bool = True,
    ) -> None:
        """Starts it, in front of a server that need not be there yet."""
        addresses = ["--server", server_address, "--listen", listen]
        more = ["--http-listen", ANY_PORT] if http else []
        super().__init__([WORKER, "--agent", *addresses, *more, *flags])
        self.grpc_address = self.announced("grpc")
        if http:
            self.http_address = self.announced("http")
        self.channel = open_channel(self.grpc_address)
        self.stub: rpc.PackingServiceStub = rpc.PackingServiceStub(self.channel)

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
