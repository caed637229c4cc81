"""A job whose members are struck at random, from its first step to its last."""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import local_client
from agent_process import AgentProcess
from attention_trainers import create_job
from chaos_members import Agent, Job, Server, Sidecar, Trainer
from child_process import wait_until
from server_process import ServerProcess
from supervised_process import Figures, Supervised, figures_of, stacks_of

# Steps before the end in which nobody is disturbed: a rank that is lost in the last one
# finds peers that have left.
CALM_STEPS = 15
TICK = 0.01
# Seconds beyond what ranks may wait for each other, on a busy machine.
MARGIN = 20.0
DEADLY = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)
STOPPED_SHARE = 0.3
# Of those who begin anew: they are killed once more, at an exchange of theirs, some
# steps later at most.
MORTAL_SHARE = 0.2
MOST_EXCHANGES = 40
# What a process may have more than once before, however often its clients came.
MORE_DESCRIPTORS = 8
MORE_THREADS = 8
MORE_BYTES = (16 << 20) * int(os.environ.get("EVENPACK_MEMORY_FACTOR", "1"))
# Of idle moments that are compared.
LEAST_SAMPLES = 9


@dataclass(frozen=True)
class Length:
    """Of a round."""

    steps: int
    # Moments in which members are struck, at most.
    strikes: int


@dataclass(frozen=True)
class Shape:
    """What a round has, by its seed."""

    data: int
    context: int
    # By rank; others work in their trainers' processes.
    with_sidecar: tuple[bool, ...]
    # Seconds between strikes, on average.
    pause: float
    # Seconds for which one is stopped, at most.
    longest_stop: float
    has_agent: bool
    spares_server: bool
    spares_sidecars: bool


def shape_of(rng: random.Random, group_seconds: int) -> Shape:
    """A group of two to four ranks, or two of two."""
    context = rng.randint(2, 4)
    data = rng.choice((1, 2)) if context == 2 else 1
    return Shape(
        data,
        context,
        tuple(rng.random() < 0.5 for _ in range(data * context)),
        pause=rng.choice((0.1, 0.3, 0.8)),
        # Some longer than others wait for it.
        longest_stop=rng.choice((0.5, 2.0, 1.5 * group_seconds)),
        has_agent=rng.random() < 0.3,
        spares_server=rng.random() < 0.5,
        spares_sidecars=rng.random() < 0.5,
    )


def check_growth(name: str, samples: list[Figures]) -> None:
    """What there is in idle moments doesn't grow, but at first."""
    third = len(samples) // 3
    if third < LEAST_SAMPLES // 3:
        return
    for what, most in (
        ("descriptors", MORE_DESCRIPTORS),
        ("threads", MORE_THREADS),
        ("resident_bytes", MORE_BYTES),
    ):
        values = [getattr(each, what) for each in samples]
        before = statistics.median(values[third : 2 * third])
        if statistics.median(values[2 * third :]) > before + most:
            raise AssertionError(f"{name}: {what} grow: {values}")


class ChaosRound:
    """Nothing runs before run(). Who makes it closes it."""

    def __init__(
        self, seed: int, folder: Path, length: Length, group_seconds: int
    ) -> None:
        """Packs the job, with a server that nobody disturbs."""
        self.struck: Counter[str] = Counter()
        self._seed = seed
        self._rng = random.Random(seed)
        self._folder = folder
        self._length = length
        self._shape = shape_of(self._rng, group_seconds)
        self._job = self._create(group_seconds)
        self._server = Server(self._job)
        self._server.spared = self._shape.spares_server
        self._agents = [Agent(self._job)] if self._shape.has_agent else []
        self._sidecars: list[Sidecar] = []
        self._trainers: list[Trainer] = []
        for i, has_sidecar in enumerate(self._shape.with_sidecar):
            self._add_rank(divmod(i, self._shape.context), has_sidecar)
        self._began = time.monotonic()
        self._quiet_since = self._began
        # The longest wait of a rank while nobody was disturbed.
        self._waited = 0.0
        self._strike_at = self._began + 1
        # What the ranks have done by then.
        self._strike_after = [0] * len(self._trainers)

    def _create(self, group_seconds: int) -> Job:
        store = self._folder / "store"
        with ServerProcess("--store", f"sqlite:{store}") as server:
            create_job(
                server, self._shape.context, self._shape.data, self._length.steps
            )
            steps = local_client.steps_of(server, "job")
            digests = [step.digest.hex() for step in steps]
            self._idle = figures_of(server.pid)
            server.terminate()
        address = server.grpc_address
        if self._shape.has_agent:
            with AgentProcess(server.grpc_address, http=False) as agent:
                address = agent.grpc_address
        return Job(server.grpc_address, address, store, group_seconds, digests)

    def _add_rank(self, rank: tuple[int, int], has_sidecar: bool) -> None:
        sidecar = None
        if has_sidecar:
            folder = self._folder / f"{rank[0]}-{rank[1]}"
            folder.mkdir()
            sidecar = Sidecar(self._job, f"{rank[0]}/{rank[1]}", folder)
            sidecar.spared = self._shape.spares_sidecars
            self._sidecars.append(sidecar)
        trainer = Trainer(self._job, rank, sidecar, self._rng)
        if rank[1] > 0:
            trainer.group = self._trainers[-1].group
            trainer.group.append(trainer)
        self._trainers.append(trainer)

    @property
    def _members(self) -> list[Supervised]:
        return [self._server, *self._agents, *self._sidecars, *self._trainers]

    def run(self) -> None:
        """Until all ranks are through."""
        while not all(trainer.finished for trainer in self._trainers):
            began = [member.look() for member in self._members]
            if any(began) or any(member.is_stopped for member in self._members):
                self._quiet_since = time.monotonic()
            if self._is_time_to_strike():
                self._strike()
            self._check_progress()
            time.sleep(TICK)
        self._check_kept()
        self._check_end()

    def _is_time_to_strike(self) -> bool:
        furthest = max(trainer.next for trainer in self._trainers)
        came = zip(self._trainers, self._strike_after, strict=True)
        return (
            time.monotonic() >= self._strike_at
            and furthest < self._job.steps - CALM_STEPS
            and sum(self.struck.values()) < self._length.strikes
            and all(trainer.next >= after for trainer, after in came)
        )

    def _strike(self) -> None:
        rng = self._rng
        there = [each for each in self._members if each.process and not each.spared]
        for member in rng.sample(there, min(len(there), rng.choice((1, 1, 1, 2, 3)))):
            self._strike_one(member)
        pause = rng.expovariate(1 / self._shape.pause)
        # Some soon, when others still look for one another; some in a step's midst.
        self._strike_at = time.monotonic() + pause * rng.choice((0.1, 1, 1))
        steps = rng.choice((0, 0, 1, 3))
        self._strike_after = [trainer.next + steps for trainer in self._trainers]

    def _strike_one(self, member: Supervised) -> None:
        rng = self._rng
        kind = member.name.split()[0]
        self._quiet_since = time.monotonic()
        if member.runs and rng.random() < STOPPED_SHARE:
            member.stop_for(rng.uniform(0.02, self._shape.longest_stop))
            self.struck[f"{kind} stopped"] += 1
            return
        number = rng.choice(DEADLY) if member.runs else signal.SIGKILL
        member.end(number)
        self.struck[f"{kind} {number.name}"] += 1
        if isinstance(member, Sidecar | Trainer) and rng.random() < MORTAL_SHARE:
            member.kill_at = f"exchange.before:{rng.randint(1, MOST_EXCHANGES)}"

    def _check_progress(self) -> None:
        now = time.monotonic()
        # Each waits for one other to connect, one after another.
        bound = self._shape.context * self._job.group_seconds + MARGIN
        for trainer in self._trainers:
            if trainer.finished:
                continue
            waited = now - max(self._quiet_since, trainer.heard_at)
            self._waited = max(self._waited, waited)
            if waited > bound:
                step = trainer.next
                raise AssertionError(f"{trainer.name}: {waited} s at step {step}")

    def _check_kept(self) -> None:
        """Who was there all the time has nothing of those who have gone."""
        for sidecar in self._sidecars:
            if sidecar.spared:
                wait_until(sidecar.has_let_go, f"{sidecar.name} lets go")
                check_growth(sidecar.name, sidecar.idle)
        process = self._server.process
        if self._server.spared and process is not None:
            wait_until(self._has_let_go(process.pid), "the server lets go")

    def _has_let_go(self, server: int) -> Callable[[], bool]:
        """Whether it has about what it had before anybody came."""

        def has_let_go() -> bool:
            now, idle = figures_of(server), self._idle
            return (
                now.descriptors <= idle.descriptors + MORE_DESCRIPTORS
                and now.threads <= idle.threads + MORE_THREADS
                and now.resident_bytes <= idle.resident_bytes + MORE_BYTES
            )

        return has_let_go

    def _check_end(self) -> None:
        """All end when they are told to, and leave no socket."""
        for member in (*self._sidecars, *self._agents, self._server):
            if member.process is None:
                continue
            member.end(signal.SIGTERM)
            status = member.process.wait()
            # One that has just begun may not know what to do with the signal.
            if status != 0 and member.spared:
                raise AssertionError(f"{member.name} ended with {status} at the end")
        for sidecar in self._sidecars:
            left = [path.name for path in sidecar.folder.iterdir()]
            if left and sidecar.spared:
                raise AssertionError(f"{sidecar.name} has left {left}")

    def close(self) -> None:
        """Kills whoever is left."""
        for member in self._members:
            member.close()

    def summary(self) -> str:
        """A line."""
        took = time.monotonic() - self._began
        rewinds = sum(trainer.rewinds for trainer in self._trainers)
        repeats = sum(trainer.repeats for trainer in self._trainers)
        return (
            f"seed {self._seed}: {took:.1f} s, {self._shape}, {dict(self.struck)}, "
            f"{rewinds} begun from earlier, {repeats} attempts more, "
            f"{self._waited:.1f} s waited"
        )

    def told(self) -> str:
        """What all have said, for those who look for a cause."""
        parts = [self.summary()]
        for member in self._members:
            parts += [f"--- {member.name}, started {member.starts} times", *member.log]
            if isinstance(member, Trainer):
                parts.append(f"step {member.next} is due; finished: {member.finished}")
            if member.process is None:
                continue
            parts.append(f"process {member.process.pid}, stopped: {member.is_stopped}")
            parts += [member.process.stderr(), stacks_of(member.process.pid)]
        return "\n".join(parts)
