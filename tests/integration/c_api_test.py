"""Trainers in C, with a rank's worker in each of their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import unittest
from collections.abc import Mapping
from pathlib import Path

import local_client
from attention_trainers import AttentionTestCase, AttentionTrainer

PROGRAM = os.environ["EVENPACK_C_TRAINER"]
LIBRARY = Path(PROGRAM).parent.parent / "lib" / "libevenpack_worker.so"
FAILED = 1


class CApiTest(AttentionTestCase):
    def start(
        self, cp_rank: int, member: str, variables: Mapping[str, str] | None = None
    ) -> AttentionTrainer:
        started = AttentionTrainer(
            [PROGRAM], self.server, (0, cp_rank), member, variables=variables
        )
        return self.enterContext(started)

    def test_groups_compute_what_the_definition_says(self) -> None:
        for context in (1, 2, 3):
            with self.subTest(context=context):
                self.create_anew(context)
                group = [self.start(cp, f"m{cp}") for cp in range(context)]
                self.check_all(group)
                for trainer in group:
                    self.assertEqual(trainer.attempts, self.steps)
                job = local_client.get_job(self.server, "job")
                self.assertEqual(job.durable_steps_per_rank, [self.steps])

    def test_a_step_is_done_again_when_a_rank_was_lost(self) -> None:
        self.create(2)
        dies = {"EVENPACK_KILL_AT": "exchange.before:50"}
        lost = self.start(1, "m1", dies)
        peer = self.start(0, "m0")
        while lost.take():
            pass
        self.assertEqual(lost.wait(), -signal.SIGKILL)
        again = self.start(1, "m1 again")
        again.take_all()
        self.check_all([peer])
        self.assertGreater(peer.attempts, self.steps)
        self.assertEqual(sorted({*lost.steps, *again.steps}), [*range(self.steps)])

    def test_says_why_it_could_not_join(self) -> None:
        self.create(2)
        trainer = self.start(2, "m2")
        self.assertFalse(trainer.take())
        self.assertEqual(trainer.wait(), FAILED)
        self.assertRegex(trainer.stderr(), "^code 3: .*cp_rank: 2")

    def test_the_library_shows_its_own_functions_alone(self) -> None:
        shown = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=posix", LIBRARY],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        names = {line.split("@")[0].split(" ")[0] for line in shown.splitlines()}
        self.assertIn("evenpack_worker_open", names)
        names.discard("EVENPACK_WORKER_0")
        self.assertEqual(
            [name for name in names if not name.startswith("evenpack_worker_")], []
        )


if __name__ == "__main__":
    unittest.main()
