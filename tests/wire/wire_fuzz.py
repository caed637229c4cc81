"""Throws at a running server what clients must not send, and looks at what it does.

  wire_fuzz.py [--seconds N | --minutes M] [--seed S] [--store memory|sqlite]
               [--secured] [--replay FILE] [--artifacts FOLDER]

--secured gives the server TLS and roles. Lanes side by side play cases (call_cases,
frame_cases, http_cases, tls_cases), each of which its seed alone decides, while a guard
(guard_job.py) makes steps. A case that went wrong is written to a file, behind those
before it; --replay plays them again, one after another.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import api_methods
import job_specs
import local_client
import reflection_client
from call_cases import call_case
from case_player import CasePlayer
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from frame_cases import frame_case
from guard_watch import GuardJob, GuardWatch
from http_cases import http_case
from process_figures import Figures, figures_of
from server_process import ServerProcess
from storm_callers import StormServer, Target
from tls_cases import tls_case
from wire_case import Case, from_json, to_json

Maker = Callable[[random.Random], Case]

LANES: dict[str, Maker] = {
    "calls-0": call_case,
    "calls-1": call_case,
    "calls-2": call_case,
    "frames-0": frame_case,
    "frames-1": frame_case,
    "http": http_case,
}
# Where the server has TLS.
SECURED_LANES: dict[str, Maker] = {**LANES, "tls": tls_case}
MESSAGE_BYTES = 4 << 20
FLAGS = (
    *("--max-message-bytes", f"{MESSAGE_BYTES}"),
    *("--max-unclaimed-bytes", f"{64 << 20}"),
    *("--max-jobs", "16"),
    *("--log-level", "error"),
)
# Cases of each lane that are written where one goes wrong.
KEPT = 200
# Calls of the storm that may pass between two steps of the guard. They wait for the
# same disk, as other cases do not.
MOST_WORK = 1000
# Memory during the storm, and what may be left of it.
MOST_BYTES = 1 << 30
LEFT_BYTES = 256 << 20
# By which it grows between two that are told of.
RISE_BYTES = 16 << 20
# Threads more than before: gRPC ends some of its own when it likes.
LEFT_THREADS = 8


@dataclass(frozen=True)
class Failure:
    """What went wrong in which lane."""

    lane: str
    number: int
    what: str


@dataclass(frozen=True)
class Rise:
    """When memory had grown how far, and what each lane played then."""

    seconds: float
    resident_bytes: int
    cases: dict[str, str]


class Storm:
    """The lanes, side by side, until one fails or they are stopped."""

    def __init__(self, target: Target, seed: int, server: ServerProcess) -> None:
        """Nothing yet."""
        self._target = target
        self._seed = seed
        self._lanes = LANES if target.authority is None else SECURED_LANES
        self._server = server
        self.stop = threading.Event()
        self.failure: Failure | None = None
        self.kept = {name: deque[Case](maxlen=KEPT) for name in self._lanes}
        self.played = dict.fromkeys(self._lanes, 0)
        self.kinds: Counter[str] = Counter()
        # Calls that ended well, by method.
        self.accepted: Counter[str] = Counter()

    def calls(self) -> int:
        """So far, by a client's library."""
        return sum(self.played[name] for name in self.played if "calls" in name)

    def now_played(self) -> dict[str, str]:
        """Each lane's case."""
        return {name: cases[-1].name for name, cases in self.kept.items() if cases}

    def _fail(self, lane: str, what: str) -> None:
        if self.failure is None:
            self.failure = Failure(lane, self.played[lane], what)
        self.stop.set()

    def run_lane(self, name: str, cases: Iterator[Case]) -> None:
        """Plays them until the storm is over."""
        player = CasePlayer(self._target)
        try:
            for case in cases:
                if self.stop.is_set():
                    break
                self.kept[name].append(case)
                wrong = player.play(case)
                self.played[name] += 1
                self.kinds[case.name] += 1
                if not self._server.runs():
                    wrong = "the server is dead"
                if wrong is not None:
                    self._fail(name, f"{case.name}: {wrong}")
                    break
        except Exception as error:
            self._fail(name, f"{type(error).__name__}: {error}")
        finally:
            player.close()
            self.accepted += player.accepted

    def cases_of(self, lane: str, make: Maker) -> Iterator[Case]:
        """Without an end."""
        number = 0
        while True:
            yield make(random.Random(f"{self._seed}/{lane}/{number}"))
            number += 1

    def blow(self, seconds: float, look: Callable[[], None]) -> None:
        """All lanes for so long; `look` is called now and then."""
        threads = [
            threading.Thread(
                target=self.run_lane, args=(name, self.cases_of(name, make))
            )
            for name, make in self._lanes.items()
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        try:
            while not self.stop.wait(0.2) and time.monotonic() < end:
                look()
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()


def check_services(server: ServerProcess) -> None:
    """The server has the services that the cases are made of, and no other of ours."""
    listed = reflection_client.services(server.channel)
    ours = {name for name in listed if name.startswith("evenpack.")}
    if ours != api_methods.service_names():
        raise AssertionError(f"{ours} instead of {api_methods.service_names()}")


def learn(server: ServerProcess) -> None:
    """What cases need that only a server can give."""
    job = api_methods.JOBS[0]
    spec = job_specs.small_spec(roomy=True)
    local_client.create(server, job, spec)
    local_client.fill(server, job, job_specs.STREAMS, 300, ends=False)
    request = api.CheckpointJobRequest(name=job, step=2)
    api_methods.learn_checkpoint(server.stub.CheckpointJob(request).checkpoint)


def delete_jobs(server: ServerProcess) -> None:
    """All that the storm left, but for the guard's."""
    listed = server.stub.ListJobs(api.ListJobsRequest())
    names = [job.name for job in listed.jobs]
    for name in names + [job.name for job in listed.broken_jobs]:
        if name != "guard":
            server.stub.DeleteJob(api.DeleteJobRequest(name=name))


def check_calm(pid: int, before: Figures, rises: Sequence[Rise]) -> Figures:
    """Waits until the process holds what it did; what it holds then."""
    try:
        wait_until(
            lambda: (
                figures_of(pid).descriptors <= before.descriptors
                and figures_of(pid).threads <= before.threads + LEFT_THREADS
            ),
            "descriptors and threads as before",
        )
        wait_until(
            lambda: (
                figures_of(pid).resident_bytes <= before.resident_bytes + LEFT_BYTES
            ),
            f"memory as before, after {rises}",
        )
    except AssertionError as error:
        raise AssertionError(f"{error}: {figures_of(pid)}, {before} before") from None
    return figures_of(pid)


class Run:
    """A server, a guard, a storm."""

    def __init__(self, server: StormServer, seed: int, artifacts: Path) -> None:
        """On a server that has just started."""
        self._server = server
        self.storm = Storm(server.target, seed, server)
        self._artifacts = artifacts
        self._seed = seed
        self._began = time.monotonic()
        self._rises: list[Rise] = []

    def _look(self) -> None:
        held = figures_of(self._server.pid).resident_bytes
        told = self._rises[-1].resident_bytes if self._rises else 0
        if held >= told + RISE_BYTES:
            seconds = round(time.monotonic() - self._began, 1)
            self._rises.append(Rise(seconds, held, self.storm.now_played()))
        if held > MOST_BYTES:
            raise AssertionError(f"{held} bytes of memory: {self._rises}")

    def _check_failures(self, watch: GuardWatch) -> None:
        if self.storm.failure is not None:
            raise AssertionError(f"{self.storm.failure}")
        if watch.longest > MOST_WORK:
            raise AssertionError(f"{watch.longest} calls between two steps")

    def weather(self, blow: Callable[[Callable[[], None]], None]) -> dict[str, object]:
        """The guard through a storm; figures of it."""
        server = self._server
        if server.authority is None:
            # With roles there is no reflection.
            check_services(server)
        learn(server)
        before = figures_of(server.pid)
        guard = GuardJob(server.grpc_address, server.authority)
        with guard:
            with GuardWatch(guard, self.storm.calls) as watch:
                blow(self._look)
            self._check_failures(watch)
            documents = guard.end()
        delete_jobs(server)
        server.channel.close()
        after = check_calm(server.pid, before, self._rises)
        return {
            "cases": self.storm.played,
            "accepted_calls": self.storm.accepted.total(),
            "methods_without_one": sorted(
                {method.path.rsplit("/", 1)[1] for method in api_methods.methods()}
                - {path.rsplit("/", 1)[1] for path in self.storm.accepted}
            ),
            "guard_steps": guard.steps,
            "guard_documents": documents,
            "most_calls_between_steps": watch.longest,
            "rises": [vars(rise) for rise in self._rises],
            "before": vars(before),
            "after": vars(after),
        }

    def write_cases(self) -> Path:
        """What led to a failure: each lane's last cases, the failing one's last."""
        failed = self.storm.failure.lane if self.storm.failure else ""
        lanes = sorted(self.storm.kept, key=lambda name: name == failed)
        path = self._artifacts / f"wire-{self._seed}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for name in lanes:
                for case in self.storm.kept[name]:
                    file.write(to_json(case) + "\n")
        return path


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--store", choices=["memory", "sqlite"], default="sqlite")
    parser.add_argument("--secured", action="store_true")
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--artifacts", type=Path)
    return parser.parse_args(given)


def main() -> int:
    """One run; 1 where something was wrong."""
    options = arguments(sys.argv[1:])
    seed = random.SystemRandom().getrandbits(32)
    if options.seed is not None:
        seed = options.seed
    seconds = options.seconds if options.minutes is None else 60 * options.minutes
    secured = " --secured" if options.secured else ""
    print(f"--seed {seed} --store {options.store}{secured}", flush=True)
    artifacts = options.artifacts or Path(tempfile.gettempdir())
    with tempfile.TemporaryDirectory() as folder:
        store = "memory" if options.store == "memory" else f"sqlite:{folder}/store"
        security = Path(folder) if options.secured else None
        with StormServer(["--store", store, *FLAGS], security) as server:
            run = Run(server, seed, artifacts)

            def blow(look: Callable[[], None]) -> None:
                if options.replay is None:
                    run.storm.blow(seconds, look)
                    return
                lines = options.replay.read_text(encoding="utf-8").splitlines()
                run.storm.run_lane("calls-0", map(from_json, lines))

            try:
                print(json.dumps(run.weather(blow)))
            except Exception as error:
                path = run.write_cases()
                print(f"FAILED {error}\ncases: {path}", file=sys.stderr)
                print(server.stderr()[-8000:], file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
