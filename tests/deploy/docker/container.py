"""Containers without an engine: a root of image_roots.py, namespaces, no privileges.

A container's program is process 1 of its own, as an engine has it: a signal without a
handler does nothing to it. Containers of a Network share its loopback device, on which
each name has an address of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from child_process import DEADLINE, ChildProcess, wait_until
from namespaces import mount_flags

ROOTS = Path(os.environ["EVENPACK_IMAGE_ROOTS"])
START = Path(__file__).with_name("start_in_root.py")
PATH = "/usr/local/bin:/usr/bin:/bin"
# Its interfaces are down at first; 0x8914 is SIOCSIFFLAGS, 0x41 up and running.
HOLD_NETWORK = """
import fcntl, socket, struct, sys
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
print("up", flush=True)
sys.stdin.read()
"""


class Network(ChildProcess):
    """A network namespace with addresses for the given names."""

    def __init__(self, names: Sequence[str], folder: Path) -> None:
        """Makes it; `folder` gets the file of its hosts."""
        super().__init__(["unshare", "--net", sys.executable, "-c", HOLD_NETWORK])
        if self.next_line() != "up":
            raise AssertionError(self.stderr())
        self.hosts = folder / "hosts"
        lines = ["127.0.0.1 localhost"]
        lines += [f"127.0.0.{at} {name}" for at, name in enumerate(names, start=2)]
        self.hosts.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def enter(self) -> list[str]:
        """The beginning of a command that runs in it."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net"]


@dataclass
class Start:
    """How an image is started; what is None is as the image says."""

    image: str
    entrypoint: Sequence[str] | None = None
    command: Sequence[str] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, Path] = field(default_factory=dict)
    tmpfs: Mapping[str, str] = field(default_factory=lambda: {"/tmp": "mode=1777"})
    hostname: str = "container"
    user: str | None = None
    read_only: bool = True

    def config(self) -> dict[str, list[str]]:
        """What the image says."""
        text = (ROOTS / f"{self.image}.json").read_text(encoding="utf-8")
        found: dict[str, list[str]] = json.loads(text)
        return found

    def argv(self) -> list[str]:
        """The whole command line."""
        config = self.config()
        if self.entrypoint is not None:
            return [*self.entrypoint, *(self.command or [])]
        chosen = self.command if self.command is not None else config["command"]
        return [*config["entrypoint"], *chosen]


def make_volume(folder: Path, image: str, place: str) -> Path:
    """An empty volume, which has owner and mode of the place in the image."""
    folder.mkdir()
    below = ROOTS / image / place.lstrip("/")
    if below.is_dir():
        shutil.copystat(below, folder)
        os.chown(folder, below.stat().st_uid, below.stat().st_gid)
    return folder


class Container(ChildProcess):
    """A program in its container."""

    def __init__(self, network: Network, start: Start) -> None:
        """Starts it."""
        self._start = start
        self._network = network
        user = start.user or str(start.config()["user"])
        number, _, group = user.partition(":")
        self._user, self._group = int(number), int(group)
        spec = {
            "root": str(ROOTS / start.image),
            "argv": start.argv(),
            "env": {"PATH": PATH, **start.environment},
            "user": self._user,
            "group": self._group,
            "read_only": start.read_only,
            "hosts": str(network.hosts),
            "hostname": start.hostname,
            "volumes": [[str(each), place] for place, each in start.volumes.items()],
            "tmpfs": [[place, options] for place, options in start.tmpfs.items()],
        }
        spaces = [*mount_flags(), "--pid", "--uts", "--ipc", "--fork"]
        program = [sys.executable, str(START), json.dumps(spec)]
        super().__init__([*network.enter(), "unshare", *spaces, *program])

    def _children(self) -> list[int]:
        """Process 1 of the container by its number outside, if it lives."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        try:
            return [*map(int, children.read_text("ascii").split())]
        except OSError:
            return []

    def _first_process(self) -> int:
        def begun() -> list[int]:
            if not self.runs():
                raise ProcessLookupError(f"{self._start.argv()} ended: {self.stderr()}")
            return self._children()

        return wait_until(begun, "it has begun")[0]

    def kill(self) -> None:
        """The program first: with its user it has left its parent's death behind."""
        for child in self._children():
            os.kill(child, signal.SIGKILL)
        super().kill()

    def signal(self, number: signal.Signals) -> None:
        """Sends it to process 1; ProcessLookupError if that has ended."""
        os.kill(self._first_process(), number)

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in the container, as its user."""
        first = self._first_process()
        spaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--root", "--wd"]
        who = [f"--setuid={self._user}", f"--setgid={self._group}"]
        return subprocess.run(
            ["nsenter", f"--target={first}", *spaces, *who, "--", *command],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env={"PATH": f"{PATH}:{os.environ['PATH']}"},
        )

    def await_health(self, check: Sequence[str]) -> None:
        """Waits until a health check is passed."""

        def passes() -> bool:
            return self.execute(*check).returncode == 0

        wait_until(passes, f"{self._start.argv()} is healthy")

    def stop(self, name: str) -> int:
        """As an engine stops it, by the signal of this name; its exit status.

        One that has ended by itself, perhaps only now, is stopped already.
        """
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.Signals[name])
        return self.wait()


def run_to_end(network: Network, start: Start) -> tuple[int, str, str]:
    """Runs one that ends by itself; its exit status, output and errors."""
    with Container(network, start) as container:
        lines = []
        while (line := container.next_line()) is not None:
            lines.append(line)
        return container.wait(), "\n".join(lines), container.stderr()


class Containers:
    """A network, and a folder for volumes, of a test."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        """With names for containers on the network."""
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        # Processes without privileges look for their volumes in it.
        self.folder.chmod(0o755)
        self.network = Network(names, self.folder)

    def __enter__(self) -> Self:
        """Made already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the network, and removes the folder."""
        self.network.__exit__(None, None, None)
        self._folder.cleanup()

    def volume(self, name: str, image: str, place: str) -> Path:
        """A new volume, as an engine makes it."""
        return make_volume(self.folder / name, image, place)
