"""An evenpack-worker that serves a trainer, with a folder for its sockets."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType

import grpc
from deadline_channel import open_channel
from evenpack.v1 import worker_service_pb2_grpc as rpc
from listening_process import ListeningProcess

PROGRAM = os.environ["EVENPACK_WORKER_PROGRAM"]


class WorkerServiceProcess(ListeningProcess):
    """Serves when it is made. Leaving the context kills it."""

    def __init__(
        self,
        server_address: str,
        *flags: str,
        folder: str | None = None,
        http_listen: str | None = None,
    ) -> None:
        """Starts it, in a folder of its own or one that another has left."""
        self._own = tempfile.TemporaryDirectory() if folder is None else None
        self.folder = folder or (self._own.name if self._own else "")
        super().__init__(
            [
                PROGRAM,
                "--serve",
                *("--server", server_address),
                *("--socket-folder", self.folder),
                *(("--http-listen", http_listen) if http_listen else ()),
                *flags,
            ]
        )
        if http_listen:
            self.http_address = self.announced("http")
        line = self.next_line() or ""
        if line != f"serving at {self.folder}":
            message = f"'{line}'; {self.stderr()}"
            super().__exit__(None, None, None)
            raise AssertionError(message)
        self.channel: grpc.Channel = open_channel(
            f"unix:{Path(self.folder) / 'worker.sock'}"
        )
        self.stub: rpc.WorkerServiceStub = rpc.WorkerServiceStub(self.channel)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it."""
        self.channel.close()
        super().__exit__(kind, error, trace)
        if self._own:
            self._own.cleanup()
