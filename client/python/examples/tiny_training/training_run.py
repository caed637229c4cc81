"""A run from its first step to its last, launch after launch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from evenpack import Client

from tiny_training.disturbances import Disturbances
from tiny_training.launch import Launch
from tiny_training.rank_processes import RankLostError, RankProcesses, Record
from tiny_training.service_process import PackingServer, start_sidecar
from tiny_training.sizes import SIZES, job_spec

# DP before the job is reshaped, and from there on.
DATA_PARALLEL = 2
RESHAPED_DATA_PARALLEL = 1
# Ranks that nobody killed and that were lost all the same: so often it goes on.
MOST_ACCIDENTS = 3


@dataclass(frozen=True)
class Settings:
    """What all runs of a program have in common.

    Attributes:
        corpus: path of the indexed dataset without its endings.
        size: one of SIZES.
        backend: "inprocess" or "sidecar": where attention is computed.
        worker_program: evenpack-worker, for sidecars.
        progress: told a line now and then.
    """

    corpus: Path
    size: str
    backend: str
    worker_program: str
    progress: Callable[[str], None]


@dataclass
class Outcome:
    """What became of a run.

    Attributes:
        losses: of each step, the mean over its tokens, of the time that counts.
        digests: of each step, in hexadecimal.
        undone: losses of steps that were done and taken back, as they were then.
        launches: how often ranks were started.
        ranks_killed: how many were.
        servers_killed: how often the server was.
        end: what rank 0 told last: "ended", "drained", "weights", "account".
        pending: disturbances that never came.
        seconds: by the clock, starting of processes and all.
    """

    losses: dict[int, float] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    undone: dict[int, float] = field(default_factory=dict)
    launches: int = 0
    ranks_killed: int = 0
    servers_killed: int = 0
    end: dict[str, Any] = field(default_factory=dict)
    pending: str = ""
    seconds: float = 0.0


class TrainingRun:
    """Starts ranks until the job is drained, and disturbs them on the way."""

    def __init__(
        self,
        settings: Settings,
        name: str,
        folder: Path,
        server: PackingServer | None,
        plan: Disturbances,
    ) -> None:
        """Nothing is started yet.

        Args:
            settings: of the program.
            name: of the run, and of its job.
            folder: for its checkpoints and logs; made here.
            server: which has a job of that name; None: the engine in each rank.
            plan: what happens on the way.
        """
        self._settings = settings
        self._name = name
        self._folder = folder
        self._server = server
        self._plan = plan
        self._data_parallel = DATA_PARALLEL
        self._accidents = 0
        # Whether a rank of the launch was.
        self._killed = False
        self._outcome = Outcome()
        folder.mkdir()

    def run(self) -> Outcome:
        """All of it.

        Raises:
            RankLostError: ranks were lost again and again.
            StartError: a program doesn't start.
        """
        began = monotonic()
        outcome = self._outcome
        while not outcome.end.get("drained", False):
            launch = self._next_launch()
            self._say(f"launch {launch.number}: {launch.ranks} ranks")
            try:
                self._watch(launch)
            except RankLostError as lost:
                self._note_lost(lost)
                continue
            if outcome.end["ended"] - 1 == self._plan.reshape:
                self._reshape(outcome.end["ended"])
        outcome.pending = str(self._plan)
        outcome.seconds = monotonic() - began
        return outcome

    def _say(self, line: str) -> None:
        self._settings.progress(f"{self._name}: {line}")

    def _next_launch(self) -> Launch:
        settings = self._settings
        number = self._outcome.launches
        self._outcome.launches += 1
        return Launch(
            folder=str(self._folder),
            number=number,
            corpus=str(settings.corpus),
            size=settings.size,
            data_parallel=self._data_parallel,
            address=None if self._server is None else self._server.address,
            job=self._name,
            backend=settings.backend,
            last_step=self._plan.reshape,
        )

    def _watch(self, launch: Launch) -> None:
        """A launch, to its end in order or otherwise."""
        self._killed = False
        with ExitStack() as processes:
            if launch.backend == "sidecar" and launch.address is not None:
                self._start_sidecars(launch, launch.address, processes)
            ranks = processes.enter_context(RankProcesses(launch))
            for record in ranks.records():
                self._note(record)
                if "step" in record:
                    self._disturb(record["step"], ranks, launch)

    def _start_sidecars(
        self, launch: Launch, address: str, processes: ExitStack
    ) -> None:
        """One for each rank, until `processes` ends."""
        for rank in range(launch.ranks):
            sidecar = start_sidecar(
                self._settings.worker_program,
                address,
                launch.socket_folder(rank),
                launch.log(rank).with_suffix(".sidecar"),
            )
            processes.callback(sidecar.kill)

    def _note(self, record: Record) -> None:
        outcome = self._outcome
        if "resumed" in record:
            first = record["resumed"]
            for step in [step for step in outcome.losses if step >= first]:
                outcome.undone[step] = outcome.losses.pop(step)
        elif "step" in record:
            step = record["step"]
            outcome.losses[step] = record["loss"]
            outcome.digests[step] = record["digest"]
            self._say(f"step {step}: loss {record['loss']:.6f}")
        else:
            outcome.end = record

    def _disturb(self, step: int, ranks: RankProcesses, launch: Launch) -> None:
        """What the plan has behind a step."""
        if step in self._plan.rank:
            self._plan = self._plan.without_rank(step)
            self._outcome.ranks_killed += 1
            self._killed = True
            self._say(f"killing rank {launch.ranks - 1}")
            ranks.kill(launch.ranks - 1)
        if step in self._plan.server and self._server is not None:
            self._plan = self._plan.without_server(step)
            self._outcome.servers_killed += 1
            self._say("killing the server")
            self._server.kill_and_restart()

    def _note_lost(self, lost: RankLostError) -> None:
        """The others are ended by now; the next launch begins at the checkpoint."""
        self._say(str(lost))
        if not self._killed:
            self._accidents += 1
        if self._accidents > MOST_ACCIDENTS:
            raise lost

    def _reshape(self, first_step: int) -> None:
        """The steps from `first_step` on are for fewer ranks."""
        self._plan = Disturbances(self._plan.rank, self._plan.server)
        self._data_parallel = RESHAPED_DATA_PARALLEL
        self._say(f"DP {self._data_parallel} from step {first_step} on")
        if self._server is not None:
            spec = job_spec(SIZES[self._settings.size], self._data_parallel)
            Client(self._server.address).update_job(
                self._name, spec, from_step=first_step
            )
