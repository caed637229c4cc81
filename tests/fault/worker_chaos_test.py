"""Ranks of context-parallel groups whose processes are killed, stopped and ended.

Trainers, their sidecars, a node's agent and the packing server, again and again, each
started anew by a supervisor, until the job is through. Each rank does each step, of the
documents that an undisturbed server packed into it, and rightly; none waits longer than
ranks may wait for each other; who is there all the time keeps nothing of who goes.
  worker_chaos_test.py [--seconds N] [--seed N] [--group-seconds N] [--keep FOLDER]
The short form has a few seeds. With --seconds there are more, each a longer round; a
failed one leaves what all have said, and their stacks, in FOLDER.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
import unittest
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from chaos_round import ChaosRound, Length

SHARED_MEMORY = Path("/dev/shm")
# Four ranks, three of them with sidecars, through an agent; two groups of two whose
# sidecars stay; two ranks, whose server stays, too. Nobody is stopped for long.
SHORT_SEEDS = (38, 57, 18)
SHORT = Length(steps=60, strikes=12)
LONG = Length(steps=120, strikes=40)
# How long ranks wait for each other.
GROUP_SECONDS = 5


class WorkerChaosTest(unittest.TestCase):
    # Of the long form.
    seconds: float | None = None
    seed = 1
    group_seconds = GROUP_SECONDS
    keep: Path | None = None

    def seeds(self) -> Iterator[int]:
        if self.seconds is None:
            yield from SHORT_SEEDS
            return
        end = time.monotonic() + self.seconds
        for seed in itertools.count(self.seed):
            if time.monotonic() > end:
                return
            yield seed

    def play(self, seed: int) -> Counter[str]:
        length = SHORT if self.seconds is None else LONG
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            chaos = ChaosRound(seed, folder, length, self.group_seconds)
            stack.callback(chaos.close)
            try:
                chaos.run()
            except AssertionError as error:
                if self.keep is not None:
                    told = f"{error}\n{chaos.told()}"
                    (self.keep / f"{seed}.txt").write_text(told)
                raise
            finally:
                print(chaos.summary(), file=sys.stderr, flush=True)
            return chaos.struck

    def test_all_ranks_get_through_the_job(self) -> None:
        before = {path.name for path in SHARED_MEMORY.iterdir()}
        struck: Counter[str] = Counter()
        for seed in self.seeds():
            with self.subTest(seed=seed):
                struck += self.play(seed)
        print(dict(struck), file=sys.stderr)
        left = {path.name for path in SHARED_MEMORY.iterdir()} - before
        self.assertEqual({name for name in left if "evenpack" in name}, set())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=WorkerChaosTest.seed)
    parser.add_argument("--group-seconds", type=int, default=GROUP_SECONDS)
    parser.add_argument("--keep", type=Path)
    options, rest = parser.parse_known_args()
    WorkerChaosTest.seconds = options.seconds
    WorkerChaosTest.seed = options.seed
    WorkerChaosTest.group_seconds = options.group_seconds
    WorkerChaosTest.keep = options.keep
    unittest.main(argv=[sys.argv[0], *rest])
