"""A server under mixed load that is killed every few seconds, for as long as is wanted.

Jobs of every policy and both merges come and go; each is checked when it is drained:
every document in exactly one step, digests, ranks that agree. Memory and the store's
file stay flat. By hand, and short as a test:
  soak.py --minutes M [--seed S]
Prints what was done and the figures in JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import soak_lane
from server_process import ServerProcess

SAMPLE_SECONDS = 0.5
# Between two kills, mostly; and now and then, so that a server grows old enough to show
# what it keeps.
SHORT_LIFE = (1.0, 6.0)
LONG_LIFE = (20.0, 40.0)
LONG_LIVES = 0.1
# The last third's median against the second third's: so many times, and so much more,
# since the jobs that are there differ.
FLAT = 1.2
MEMORY_SLACK = 8 << 20
FILE_SLACK = 2 << 20
# Fewer samples than this say nothing.
LEAST_SAMPLES = 60


class Samples:
    """A figure over time."""

    def __init__(self, name: str, slack: int) -> None:
        """None yet."""
        self.name = name
        self._slack = slack
        self._values: list[int] = []

    def add(self, value: int) -> None:
        """One more."""
        self._values.append(value)

    def _third(self, which: int) -> Sequence[int]:
        third = len(self._values) // 3
        return self._values[which * third : (which + 1) * third]

    def summary(self) -> dict[str, int]:
        """Bytes: medians of the three thirds, and the largest."""
        medians = [round(statistics.median(self._third(i))) for i in range(3)]
        return {
            "samples": len(self._values),
            "median_first_third": medians[0],
            "median_second_third": medians[1],
            "median_last_third": medians[2],
            "largest": max(self._values),
        }

    def check(self) -> None:
        """That it stayed flat, if there are enough to tell."""
        if len(self._values) < LEAST_SAMPLES:
            return
        before, after = (statistics.median(self._third(i)) for i in (1, 2))
        if after > FLAT * before + self._slack:
            raise AssertionError(f"{self.name} rose from {before} to {after} bytes")


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def stored_bytes(store: Path) -> int:
    """The store's file and its write-ahead log."""
    files = [store, store.with_name(f"{store.name}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


class Soak:
    """The server, its kills, the samples."""

    def __init__(self, minutes: float, seed: int, directory: Path) -> None:
        """Starts the server."""
        self._end = time.monotonic() + 60 * minutes
        self._random = random.Random(seed)
        self._seed = seed
        self._store = directory / "store"
        self._server = self._start("127.0.0.1:0")
        self.kills = 0
        self.memory = Samples("memory", MEMORY_SLACK)
        self.file = Samples("the store", FILE_SLACK)

    def _start(self, listen: str) -> ServerProcess:
        return ServerProcess("--store", f"sqlite:{self._store}", listen=listen)

    def is_over(self) -> bool:
        """No further job, no further kill."""
        return time.monotonic() > self._end

    def run(self) -> soak_lane.Work:
        """All of it; what was done."""
        address = self._server.grpc_address
        lanes = [
            soak_lane.Lane(address, shape, self._seed + i)
            for i, shape in enumerate(soak_lane.shapes())
        ]
        with ThreadPoolExecutor(len(lanes)) as pool:
            running = [pool.submit(lane.run, self.is_over) for lane in lanes]
            try:
                self._disturb(running)
            finally:
                # Lanes end after their jobs, also where one of them failed.
                self._end = 0
        total = soak_lane.Work()
        for each in running:
            total.add(each.result())
        self._finish()
        return total

    def _disturb(self, running: Sequence[Future[soak_lane.Work]]) -> None:
        while not self.is_over():
            long_life = self._random.random() < LONG_LIVES
            life = self._random.uniform(*(LONG_LIFE if long_life else SHORT_LIFE))
            self._sample_for(life)
            if any(lane.done() for lane in running):
                return
            if not self.is_over():
                self._kill()

    def _sample_for(self, seconds: float) -> None:
        until = min(time.monotonic() + seconds, self._end)
        while time.monotonic() < until:
            self.memory.add(resident_bytes(self._server.pid))
            self.file.add(stored_bytes(self._store))
            time.sleep(SAMPLE_SECONDS)

    def _kill(self) -> None:
        address = self._server.grpc_address
        self._server.kill()
        self._server.__exit__(None, None, None)
        self._server = self._start(address)
        self.kills += 1

    def _finish(self) -> None:
        with self._server:
            status = self._server.terminate()
        if status != 0:
            raise AssertionError(f"the server ended with {status}")
        program = os.environ["EVENPACKCTL"]
        verified = subprocess.run(
            [program, "verify", self._store, "--json"], check=True, capture_output=True
        )
        jobs = json.loads(verified.stdout)["jobs"]
        if jobs:
            raise AssertionError(f"jobs are left: {jobs}")


def main() -> None:
    """Reads the flags, soaks, reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        soak = Soak(options.minutes, options.seed, Path(directory))
        work = soak.run()
    report = {
        "minutes": options.minutes,
        "kills": soak.kills,
        **vars(work),
        "memory_bytes": soak.memory.summary(),
        "file_bytes": soak.file.summary(),
    }
    print(json.dumps(report, indent=2))
    soak.memory.check()
    soak.file.check()


if __name__ == "__main__":
    main()
