"""Measures an exact solver on a few global batches, in a process of its own.

    measure_solver.py ADAPTER LENGTHS MICRO_BATCHES WINDOW MAX_LENGTH BATCHES SECONDS

ADAPTER is a module of this folder with `solvers() -> list[Solver]`; a solver has
SECONDS for each batch. Prints a JSON list, an object a solver.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packer import Shape, global_batches, read_lengths
from score import score
from solver import Problem, Solver


def measure(
    solver: Solver, batches: Sequence[Sequence[int]], shape: Shape, seconds: float
) -> dict[str, Any]:
    """Scores what was found. `bound`: the least imbalance that a solution could have.

    `proven` counts the batches for which nothing better exists: by the solver's word,
    or since one document or the mean is as heavy.
    """
    calls, milliseconds, bounds, proven = [], [], [], 0
    for lengths in batches:
        problem = Problem(lengths, shape, seconds)
        begun = time.perf_counter()
        solution = solver.solve(problem)
        milliseconds.append((time.perf_counter() - begun) * 1e3)
        calls.append((lengths, solution.packed))
        weights, least = problem.weights(), problem.least()
        mean = sum(weights) / shape.micro_batches
        bounds.append(max(solution.bound, least) / mean)
        heaviest = max(sum(weights[i] for i in bin_) for bin_ in solution.packed)
        proven += solution.proven or heaviest == least
    return {
        "name": solver.name,
        "ms": statistics.mean(milliseconds),
        "bound": statistics.mean(bounds),
        "proven": proven,
        **asdict(score(calls, shape)),
    }


def main(arguments: list[str]) -> int:
    """Prints what was measured of the adapter's solvers."""
    adapter, lengths, micro_batches, window, max_length, count, seconds = arguments
    shape = Shape(int(micro_batches), int(window), int(max_length))
    batches = list(
        itertools.islice(global_batches(read_lengths(Path(lengths)), shape), int(count))
    )
    with contextlib.redirect_stdout(sys.stderr):
        module = importlib.import_module(adapter)
        results = [
            measure(solver, batches, shape, float(seconds))
            for solver in module.solvers()
        ]
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
