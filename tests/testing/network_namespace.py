"""Network namespaces of a test's own, linked to its own, whose links can be cut.

A program that needs them runs itself again by `enter_own_network`, so that nothing of
the machine's network changes and all is gone when it ends. Needs root, or what makes
`unshare -n` and `ip link` work; `why_not` says what is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from types import TracebackType
from typing import Self

from child_process import ChildProcess

_INSIDE = "EVENPACK_IN_OWN_NETWORK"
# Nobody's: what is sent there is dropped without a word (locally administered).
_NOBODY = "02:00:00:00:00:fe"


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {ended.stderr.strip()}")


def why_not(*, disturbed: bool = False) -> str | None:
    """What keeps namespaces from being made here; None: nothing does.

    `disturbed`: or their links from being disturbed.
    """
    tried = "ip link set lo up && ip link add near type veth peer name far"
    if disturbed:
        tried += " && tc qdisc add dev near root netem delay 1ms"
    try:
        ended = subprocess.run(
            ["unshare", "-n", "sh", "-c", tried],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        return str(error)
    return None if ended.returncode == 0 else ended.stderr.strip()


def enter_own_network() -> None:
    """Returns once this program runs in a network of its own, if need be anew."""
    if _INSIDE not in os.environ:
        os.environ[_INSIDE] = "yes"
        os.execvp("unshare", ["unshare", "-n", sys.executable, "-B", *sys.argv])
    _run("ip", "link", "set", "lo", "up")


class Link:
    """Between this namespace, 10.213.N.1, and another's 10.213.N.2."""

    def __init__(self, number: int, process: int) -> None:
        """A link to the namespace of a process."""
        self.near = f"10.213.{number}.1"
        self.far = f"10.213.{number}.2"
        self._name = f"near{number}"
        self._far_name = f"far{number}"
        self._enter = ("nsenter", "-t", f"{process}", "-n")
        ends = ("peer", "name", self._far_name, "netns", f"{process}")
        _run("ip", "link", "add", self._name, "type", "veth", *ends)
        for enter, address, name in self._ends():
            _run(*enter, "ip", "addr", "add", f"{address}/30", "dev", name)
            _run(*enter, "ip", "link", "set", name, "up")

    def _ends(self) -> list[tuple[tuple[str, ...], str, str]]:
        return [((), self.near, self._name), (self._enter, self.far, self._far_name)]

    def cut(self) -> None:
        """From now on what is sent vanishes, both ways, and nobody is told."""
        for (enter, _, name), peer in zip(
            self._ends(), (self.far, self.near), strict=True
        ):
            neighbour = (peer, "lladdr", _NOBODY, "dev", name, "nud", "permanent")
            _run(*enter, "ip", "neigh", "replace", *neighbour)

    def heal(self) -> None:
        """It works again."""
        for (enter, _, name), peer in zip(
            self._ends(), (self.far, self.near), strict=True
        ):
            _run(*enter, "ip", "neigh", "del", peer, "dev", name)

    def disturb(self, *netem: str) -> None:
        """Both ways, as tc-netem(8) has it."""
        for enter, _, name in self._ends():
            _run(*enter, "tc", "qdisc", "replace", "dev", name, "root", "netem", *netem)


class NetworkNamespace:
    """Beside this program's own. Leaving the context ends what holds it."""

    def __init__(self) -> None:
        """Without any link."""
        self._holder = ChildProcess(
            ["unshare", "-n", "sh", "-c", "echo made; exec cat"]
        )
        if self._holder.next_line() != "made":
            raise AssertionError(f"no namespace: {self._holder.stderr()}")
        self._enter = ("nsenter", "-t", f"{self._holder.pid}", "-n")
        _run(*self._enter, "ip", "link", "set", "lo", "up")

    def __enter__(self) -> Self:
        """The namespace."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it; what still runs in it keeps it."""
        self._holder.__exit__(kind, error, trace)

    @property
    def enter(self) -> tuple[str, ...]:
        """What goes before a command that is to run in it."""
        return self._enter

    def link(self, number: int) -> Link:
        """One of its own, of a number that no other link has."""
        return Link(number, self._holder.pid)
