"""An evenpack-worker that serves a trainer, with a folder for its sockets."""

from __future__ import annotations

import os
import tempfile
import urllib.request
from pathlib import Path
from types import TracebackType

import grpc
from child_process import DEADLINE, ChildProcess
from deadline_channel import open_channel
from evenpack.v1 import worker_service_pb2_grpc as rpc

PROGRAM = os.environ["EVENPACK_WORKER_PROGRAM"]


class WorkerServiceProcess(ChildProcess):
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
        line = self.next_line() or ""
        self.http_address = ""
        if http_listen:
            self.http_address = line.removeprefix("http listening on ")
            line = self.next_line() or ""
        if line != f"serving at {self.folder}":
            message = f"'{line}'; {self.stderr()}"
            super().__exit__(None, None, None)
            raise AssertionError(message)
        self.channel: grpc.Channel = open_channel(
            f"unix:{Path(self.folder) / 'worker.sock'}"
        )
        self.stub: rpc.WorkerServiceStub = rpc.WorkerServiceStub(self.channel)

    def page(self, path: str) -> str:
        """The text of a page of its HTTP port."""
        url = f"http://{self.http_address}{path}"
        with urllib.request.urlopen(url, timeout=DEADLINE) as response:
            text: str = response.read().decode()
            return text

    def metric(self, series: str) -> float:
        """The value of one series, named as /metrics writes it."""
        for line in self.page("/metrics").splitlines():
            name, _, value = line.rpartition(" ")
            if name == series:
                return float(value)
        raise AssertionError(f"/metrics has no series {series}")

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
