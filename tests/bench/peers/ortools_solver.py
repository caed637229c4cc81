"""OR-Tools' CP-SAT."""

from __future__ import annotations

from ortools.sat.python import cp_model
from solver import (
    Problem,
    Solution,
    Solver,
    heaviest_of,
    longest_first,
    micro_batches,
)


def solve(problem: Problem) -> Solution:
    """Boolean variables for each document and micro-batch."""
    bins = range(problem.shape.micro_batches)
    weights = problem.weights()
    start = longest_first(problem)
    model = cp_model.CpModel()
    heaviest = model.new_int_var(problem.least(), sum(weights), "heaviest")
    x = [[model.new_bool_var("") for _ in bins] for _ in weights]
    for row, chosen in zip(x, start, strict=True):
        model.add_exactly_one(row)
        for b in bins:
            model.add_hint(row[b], b == chosen)
    for b in bins:
        column = [row[b] for row in x]
        tokens = cp_model.LinearExpr.weighted_sum(column, problem.lengths)
        model.add(tokens <= problem.shape.max_length)
        model.add(cp_model.LinearExpr.weighted_sum(column, weights) <= heaviest)
    model.add_hint(heaviest, heaviest_of(weights, start, len(bins)))
    model.minimize(heaviest)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = problem.seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"CP-SAT: {solver.status_name(status)}")
    chosen_bins = [max(bins, key=lambda b: solver.value(row[b])) for row in x]
    return Solution(
        micro_batches(chosen_bins, len(bins)),
        float(solver.best_objective_bound),
        bool(status == cp_model.OPTIMAL),
    )


def solvers() -> list[Solver]:
    """With CP-SAT's own choice of workers."""
    return [Solver("OR-Tools CP-SAT", solve)]
