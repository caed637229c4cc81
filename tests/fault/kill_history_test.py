"""kill_history.py finds what it is there to find."""

from __future__ import annotations

import unittest
from dataclasses import replace

import kill_history
from evenpack.v1 import job_pb2
from mortal_server import Position
from worker_process import Told

TOLD = [
    Told(1, "web", "accepted", 10),
    Told(2, "0", "step", 0, b"a"),
    Told(3, "1", "step", 0, b"a"),
    Told(4, "0", "lost"),
    Told(5, "0", "durable", 1),
    Told(7, "0", "step", 1, b"b"),
    Told(8, "web", "accepted", 20),
]


def position(at: int, accepted: int, durable: int, next_step: int) -> Position:
    stream = job_pb2.StreamStatus(name="web", next_sequence=accepted)
    return Position(
        at,
        job_pb2.Job(
            name="job",
            streams=[stream],
            next_step=next_step,
            durable_steps_per_rank=[durable, 0],
        ),
    )


class KillHistoryTest(unittest.TestCase):
    def check_found(self, what: str, told: list[Told], *positions: Position) -> None:
        with self.assertRaisesRegex(AssertionError, what):
            kill_history.check(told, positions)

    def test_a_good_history_is_good(self) -> None:
        # What is told after the question need not be in the answer.
        kill_history.check(TOLD, [position(6, 10, 1, 1), position(9, 25, 1, 2)])

    def test_a_server_that_forgot_is_found(self) -> None:
        self.check_found("9 documents of web", TOLD, position(6, 9, 1, 1))
        self.check_found("0 steps of rank 0 are durable", TOLD, position(6, 10, 0, 1))
        self.check_found("next_step 0", TOLD, position(6, 10, 1, 0))
        self.check_found("15 documents of web", TOLD, position(9, 15, 1, 2))

    def test_what_goes_back_is_found(self) -> None:
        self.check_found("number=9", [*TOLD, Told(9, "web", "accepted", 9)])
        self.check_found("number=0", [*TOLD, Told(9, "0", "durable", 0)])

    def test_a_step_that_is_missing_or_comes_twice_is_found(self) -> None:
        self.check_found("number=3", [*TOLD, Told(9, "0", "step", 3)])
        self.check_found("number=1", [*TOLD, Told(9, "0", "step", 1, b"b")])

    def test_a_step_with_another_digest_is_found(self) -> None:
        other = [replace(each, digest=b"c") if each.at == 3 else each for each in TOLD]
        self.check_found("another digest", other)


if __name__ == "__main__":
    unittest.main()
