"""Tests of how exact solvers are measured, with small ones of our own."""

from __future__ import annotations

import unittest

from measure_solver import measure
from packer import Shape
from solver import Problem, Solution, Solver, heaviest_of, longest_first, micro_batches

SHAPE = Shape(micro_batches=2, window=94_000, max_length=94_000)


def greedy(problem: Problem) -> Solution:
    chosen = longest_first(problem)
    return Solution(micro_batches(chosen, problem.shape.micro_batches), 0, False)


class MeasureSolverTest(unittest.TestCase):
    def test_weights_and_the_least_that_is_possible(self) -> None:
        for lengths, weights, least in (
            ([47_000, 23_500], [94_000_000, 35_250_000], 94_000_000),
            ([47_000] * 3, [94_000_000] * 3, 141_000_000),
        ):
            problem = Problem(lengths, SHAPE, 1)
            self.assertEqual((problem.weights(), problem.least()), (weights, least))

    def test_starting_point_is_where_there_is_least_work_and_room(self) -> None:
        for lengths, chosen in (
            ([10, 30, 20], [1, 0, 1]),
            # 60,000 tokens are more work than twice 47,000.
            ([60_000, 47_000, 30_000, 47_000], [0, 1, 0, 1]),
        ):
            self.assertEqual(longest_first(Problem(lengths, SHAPE, 1)), chosen)

    def test_what_fits_nowhere_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "document 2: fits into no"):
            longest_first(Problem([60_000, 60_000, 50_000], SHAPE, 1))

    def test_heaviest_and_micro_batches_of_an_assignment(self) -> None:
        self.assertEqual(heaviest_of([5, 1, 3], [1, 0, 0], 2), 5)
        self.assertEqual(micro_batches([1, 0, 1], 3), [[1], [0, 2], []])

    def test_solution_as_heavy_as_a_document_is_proven(self) -> None:
        solver = Solver("greedy", greedy)
        batches = [[47_000, 23_500], [47_000, 47_000, 23_500, 23_500, 23_500]]
        row = measure(solver, batches, SHAPE, 1)
        self.assertEqual((row["proven"], row["steps"]), (1, 2))
        # 94,000 of 129,250, and half of 293,750.
        self.assertAlmostEqual(row["bound"], (94_000 / 64_625 + 1) / 2)

    def test_bound_of_the_solver_holds_where_it_is_the_higher(self) -> None:
        solver = Solver("bound", lambda _: Solution([[0], [1]], 141_000_000, True))
        row = measure(solver, [[47_000, 47_000]], SHAPE, 1)
        self.assertEqual((row["bound"], row["proven"]), (1.5, 1))


if __name__ == "__main__":
    unittest.main()
