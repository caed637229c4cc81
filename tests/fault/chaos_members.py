"""Members of context-parallel groups, which are started again when they end.

The server and a node's agent, sidecars and trainers, who check each of their steps.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attention_trainers import ACCEPTED, IN_PROCESS_TRAINER, SIDECAR_TRAINER
from server_process import PROGRAM as SERVER
from supervised_process import Figures, Supervised, figures_of

WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]
# Of a trainer that its peers have left behind, or the reverse.
_APART = "accepted: all ranks of the group at one step"
# What a trainer is told whose sidecar ends, or is not there.
_NO_SIDECAR = re.compile("^UNAVAILABLE: ")


@dataclass(frozen=True)
class Job:
    """What all members of a round know."""

    # The server's, and where the others reach it: there, or at an agent.
    server: str
    address: str
    store: Path
    # How long ranks wait for each other in an exchange, and to connect.
    group_seconds: int
    # The digest of each step.
    digests: Sequence[str]

    @property
    def steps(self) -> int:
        """How many it has."""
        return len(self.digests)


class Server(Supervised):
    """The packing server, over one store on one port."""

    def __init__(self, job: Job) -> None:
        """Of one job."""
        super().__init__("server", graceful=0)
        self._job = job

    def command(self) -> list[str]:
        """As MortalServer has it."""
        listen = ["--listen", self._job.server, "--http-listen", ""]
        store = ["--store", f"sqlite:{self._job.store}"]
        return [SERVER, *listen, *store, "--drain-seconds", "2"]


class Agent(Supervised):
    """The plan agent of the members' node."""

    def __init__(self, job: Job) -> None:
        """In front of the job's server."""
        super().__init__("agent", graceful=0)
        self._job = job

    def command(self) -> list[str]:
        """At the address that all others know."""
        addresses = ["--server", self._job.server, "--listen", self._job.address]
        return [WORKER, "--agent", *addresses]


class Sidecar(Supervised):
    """A rank's process beside its trainer's."""

    def __init__(self, job: Job, name: str, folder: Path) -> None:
        """`folder`: of its sockets."""
        super().__init__(f"sidecar {name}", graceful=0)
        self._job = job
        self.folder = folder
        # When its trainers were gone.
        self.idle: list[Figures] = []

    def command(self) -> list[str]:
        """With little memory, and one thread: they are many."""
        timeout = ["--group-timeout-seconds", f"{self._job.group_seconds}"]
        serve = ["--serve", "--server", self._job.address, "--socket-folder"]
        small = ["--memory", "256MB", "--threads", "1"]
        return [WORKER, *serve, str(self.folder), *small, *timeout]

    def has_let_go(self) -> bool:
        """Whether its last trainer's memory is gone; notes what it has then."""
        if not self.runs:
            return True
        assert self.process is not None
        try:
            figures = figures_of(self.process.pid)
        except (FileNotFoundError, ProcessLookupError, KeyError):
            return True  # it ends
        if figures.arenas == 0 and self.spared:
            self.idle.append(figures)
        return figures.arenas == 0


class Trainer(Supervised):
    """A rank of a group, alone or with a sidecar."""

    def __init__(
        self,
        job: Job,
        rank: tuple[int, int],
        sidecar: Sidecar | None,
        rng: random.Random,
    ) -> None:
        """`rank`: (dp_rank, cp_rank). `rng` draws how soon it may begin anew."""
        # It has no handler of SIGTERM.
        super().__init__(f"trainer {rank[0]}/{rank[1]}", graceful=-15)
        self._job = job
        self._rank = rank
        self._rng = rng
        self.sidecar = sidecar
        # The ranks of its group, itself among them.
        self.group: list[Trainer] = [self]
        # The step that is due.
        self.next = 0
        self.heard_at = time.monotonic()
        # Steps that were done again with all ranks; attempts beyond the first.
        self.rewinds = 0
        self.repeats = 0
        self._is_apart = False
        self._awaits_idle = False

    def command(self) -> list[str]:
        """From its checkpoint, or the group's, where its ranks were apart."""
        if self._is_apart:
            self.next = min(each.next for each in self.group)
            self.rewinds += 1
        self._is_apart = False
        self._awaits_idle = self._rng.random() < 0.5
        self.heard_at = time.monotonic()
        member = f"{self.name}, incarnation {self.starts}"
        of_rank = [*map(str, self._rank), member, f"{self.next}"]
        to = [self._job.address, "job", *of_rank]
        if self.sidecar is not None:
            return [SIDECAR_TRAINER, str(self.sidecar.folder), *to]
        return [IN_PROCESS_TRAINER, *to, "0", f"{self._job.group_seconds}"]

    def may_start(self) -> bool:
        """Some begin only when nothing is left of those before them."""
        if self.sidecar is None or not self._awaits_idle:
            return True
        return self.sidecar.has_let_go()

    def took(self, line: str) -> None:
        """A step, which must be the next one, and right."""
        said = json.loads(line)
        self.heard_at = time.monotonic()
        where = f"{self.name}, incarnation {self.starts}, step {said['step']}"
        if said["step"] != self.next:
            raise AssertionError(f"{where}: in place of {self.next}")
        if said["digest"] != self._job.digests[self.next]:
            raise AssertionError(f"{where}: other documents")
        if not said["error"] <= ACCEPTED:
            raise AssertionError(f"{where}: wrong: {line}")
        self.next += 1
        self.repeats += said["attempts"] - 1

    def explains(self, status: int, stderr: str) -> bool:
        """The job's end, ranks apart, or a sidecar that is gone."""
        if status == 0:
            self.finished = self.next == self._job.steps
            return self.finished
        if status == 1 and _APART in stderr:
            self._is_apart = True
            return True
        if self.sidecar is None:
            return False
        return status == 1 and _NO_SIDECAR.search(stderr) is not None
