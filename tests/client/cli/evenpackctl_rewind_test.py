"""Runs evenpackctl from outside: checkpoint, restore, rewind, fork, skip.

The environment is that of evenpackctl_online_test.py.
"""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from evenpackctl_online_test import ROOMY, SMALL, ServerTest, numbers


class RewindTest(ServerTest):
    """A job with the documents 0 to 98, of 1 to 99 tokens."""

    def setUp(self) -> None:
        super().setUp()
        self.create(*SMALL, *ROOMY, "--retain-checkpoints", "50")
        self.ingest("--lengths", "-", "--end-of-stream", stdin=numbers(1, 99))
        self.before = self.describe()
        self.assertGreater(self.before["next_step"], 8)

    def job_of(self, *arguments: str) -> dict[str, Any]:
        job: dict[str, Any] = json.loads(self.succeed(*arguments, "--json"))
        return job

    def sequences(self, name: str, from_step: int) -> set[int]:
        """Of the documents in the steps from there on, at both ranks."""
        found = set()
        for rank in ("0", "1"):
            output = self.succeed(
                "follow", "--job", name, "--dp-rank", rank, "--ack", "none",
                "--from-step", str(from_step), "--json",
            )  # fmt: skip
            for line in output.splitlines():
                for micro_batch in json.loads(line)["micro_batches"]:
                    found |= {each["sequence"] for each in micro_batch["documents"]}
        return found

    def test_back_and_on_again(self) -> None:
        trained = set(range(99)) - self.sequences(self.job, 4)
        job = self.job_of("rewind", self.job, "--from-step", "4")
        self.assertEqual((job["epoch"], job["durable_steps"]), (1, 0))
        self.assertEqual(job["digest"], self.before["digest"])
        rewind = ("rewind", self.job, "--from-step", "4", "--skip", "default:90:5")
        job = self.job_of(*rewind, "--dp", "1", "--micro-batches", "4")
        self.assertEqual(job["spec"]["parallelism"]["data"], 1)
        self.assertEqual(
            job["streams"][0]["skipped"], [{"first_sequence": 90, "documents": 5}]
        )
        self.assertIn("ended, 5 skipped", self.succeed("jobs", "describe", self.job))
        self.assertIn("accepted: 0 to", self.refused(3, *rewind[:3], "99"))
        self.assertIn("epoch", self.refused(3, *rewind, "--expected-epoch", "1"))
        self.assertEqual(len(trained & set(range(90, 95))), 0)

    def test_a_fork_skips_alone(self) -> None:
        fork = f"{self.job}-b"
        job = self.job_of("fork", self.job, "--as", fork, "--step", "4")
        self.assertEqual(job["digest"], self.before["digest"])
        self.job_of(
            "skip", fork, "--documents", "default:95:1,default:97:2", "--from-step", "5"
        )
        last = {95, 97, 98}
        self.assertEqual(self.sequences(self.job, 5) & last, last)
        self.assertEqual(self.sequences(fork, 5) & last, set())
        self.assertIn("'default:95'", self.refused(2, "skip", fork, "--documents",
                                                   "default:95"))  # fmt: skip

    def test_a_checkpoint_in_a_file(self) -> None:
        before = self.before["next_step"]
        with tempfile.TemporaryDirectory() as directory:
            path = str(Path(directory, "checkpoint"))
            taken = self.job_of("checkpoint", self.job, "--step", "5", "--output", path)
            self.assertEqual(taken["bytes"], Path(path).stat().st_size)
            again = self.job_of("restore", f"{self.job}-b", "--checkpoint", path)
            self.assertEqual(again["digest"], self.before["digest"])
            job = self.job_of("rewind", self.job, "--checkpoint", path)
            self.assertEqual((job["next_step"], job["epoch"]), (before, 1))
            self.assertEqual(job["digest"], self.before["digest"])
            Path(path).write_bytes(b"something else")
            self.assertIn(
                "state", self.refused(3, "rewind", self.job, "--checkpoint", path)
            )


if __name__ == "__main__":
    unittest.main()
