"""HiGHS, branch and cut on the integer programme."""

from __future__ import annotations

import highspy
import numpy as np
from solver import (
    Problem,
    Solution,
    Solver,
    heaviest_of,
    longest_first,
    micro_batches,
)

# Workloads in numbers near to those of the other rows.
SCALE = 1e6


def programme(problem: Problem) -> highspy.HighsLp:
    """Column i * N + j: document i is in micro-batch j. The last: the heaviest's work.

    Rows: each document in one; the tokens of each micro-batch; its work.
    """
    bins, lengths = problem.shape.micro_batches, np.array(problem.lengths)
    weights = np.array(problem.weights()) / SCALE
    count = len(lengths)
    columns = count * bins
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns + 1, count + 2 * bins
    lp.col_cost_ = np.append(np.zeros(columns), 1.0)
    lp.col_lower_ = np.append(np.zeros(columns), problem.least() / SCALE)
    lp.col_upper_ = np.append(np.ones(columns), highspy.kHighsInf)
    lp.row_lower_ = np.append(np.ones(count), np.full(2 * bins, -highspy.kHighsInf))
    lp.row_upper_ = np.concatenate(
        [np.ones(count), np.full(bins, problem.shape.max_length), np.zeros(bins)]
    )
    document = np.repeat(np.arange(count), bins)
    micro_batch = np.tile(np.arange(bins), count)
    rows = np.stack([document, count + micro_batch, count + bins + micro_batch], 1)
    values = np.stack([np.ones(columns), lengths[document], weights[document]], 1)
    lp.a_matrix_.start_ = np.append(3 * np.arange(columns + 1), 3 * columns + bins)
    lp.a_matrix_.index_ = np.append(rows.ravel(), count + bins + np.arange(bins))
    lp.a_matrix_.value_ = np.append(values.ravel(), -np.ones(bins))
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns + [
        highspy.HighsVarType.kContinuous
    ]
    return lp


def solve(problem: Problem) -> Solution:
    """Starts from the greedy solution and stops when its time is up."""
    bins = problem.shape.micro_batches
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", problem.seconds)
    highs.passModel(programme(problem))
    start = longest_first(problem)
    heaviest = heaviest_of(problem.weights(), start, bins) / SCALE
    solution = highspy.HighsSolution()
    solution.col_value = [*np.eye(bins)[start].ravel().tolist(), heaviest]
    highs.setSolution(solution)
    highs.run()
    found = np.array(highs.getSolution().col_value)
    if len(found) == 0 or not highs.getInfo().primal_solution_status:
        raise RuntimeError(f"HiGHS: {highs.getModelStatus()}")
    chosen = found[:-1].reshape(-1, bins).argmax(axis=1)
    return Solution(
        micro_batches([int(b) for b in chosen], bins),
        float(highs.getInfo().mip_dual_bound) * SCALE,
        bool(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal),
    )


def solvers() -> list[Solver]:
    """With the defaults of HiGHS."""
    return [Solver("HiGHS", solve)]
