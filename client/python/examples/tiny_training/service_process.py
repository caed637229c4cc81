"""Programs that serve, started beside the ranks: the packing server, and sidecars."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType

ANY_PORT = "127.0.0.1:0"


class StartError(Exception):
    """A program doesn't serve; the message has what it wrote."""


class ServiceProcess:
    """A process that serves once it has written its first line."""

    def __init__(self, command: list[str], announces: str, log: Path) -> None:
        """Starts it, and waits for the line.

        Args:
            command: the program and its flags.
            announces: how the line begins.
            log: the file that its standard error goes to, behind what is there.

        Raises:
            StartError: it can't be started, or wrote something else.
        """
        with log.open("a", encoding="utf-8") as errors:
            try:
                self._process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=errors, text=True
                )
            except OSError as error:
                raise StartError(f"{command[0]}: {error.strerror}") from error
        assert self._process.stdout is not None
        line = self._process.stdout.readline().rstrip("\n")
        if not line.startswith(announces):
            self.kill()
            wrote = log.read_text(encoding="utf-8").strip()
            raise StartError(f"{command[0]}: '{line}', not '{announces}..'; {wrote}")
        self.announced = line.removeprefix(announces)

    def kill(self) -> None:
        """SIGKILL, and its end."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class PackingServer:
    """An evenpack-server that keeps its jobs in a file, and survives being killed."""

    def __init__(self, program: str, folder: Path) -> None:
        """Starts it on a port that is free.

        Args:
            program: evenpack-server.
            folder: for its store and its log.

        Raises:
            StartError: it doesn't serve.
        """
        self._program = program
        self._folder = folder
        self._process = self._start(ANY_PORT)
        self.address = self._process.announced

    def _start(self, listen: str) -> ServiceProcess:
        command = [
            *(self._program, "--listen", listen, "--http-listen", ""),
            *("--store", f"sqlite:{self._folder / 'jobs'}", "--log-level", "warning"),
        ]
        log = self._folder / "server.log"
        return ServiceProcess(command, "grpc listening on ", log)

    def kill_and_restart(self) -> None:
        """Another process with the same store and port."""
        self._process.kill()
        self._process = self._start(self.address)

    def __enter__(self) -> PackingServer:
        """The server, which serves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it."""
        self._process.kill()


def start_sidecar(
    program: str, server_address: str, socket_folder: Path, log: Path
) -> ServiceProcess:
    """An evenpack-worker that computes one rank's attention.

    Raises:
        StartError: it doesn't serve.
    """
    socket_folder.mkdir(mode=0o700)
    command = [
        *(program, "--serve", "--server", server_address, "--threads", "1"),
        *("--socket-folder", str(socket_folder), "--memory", "1GB"),
    ]
    return ServiceProcess(command, "serving at ", log)
