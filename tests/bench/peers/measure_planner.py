"""Measures the planners of one adapter, in a process of its own.

    measure_planner.py ADAPTER MICRO_BATCHES RANKS...

ADAPTER is a module of this folder with `planners() -> list[Planner]`; MICRO_BATCHES a
JSON file, a list of the documents' lengths for each micro-batch. Prints a JSON list, an
object a planner and number of ranks.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cp_plans import Planner, pairs_by_rank, score_pairs


def measure(
    planner: Planner, micro_batches: Sequence[Sequence[int]], ranks: int
) -> dict[str, Any]:
    """Plans every micro-batch; `ms` is the median."""
    planner.plan(planner.prepare(micro_batches[0]), ranks)
    pairs, milliseconds = [], []
    for lengths in micro_batches:
        prepared = planner.prepare(lengths)
        begun = time.perf_counter()
        plan = planner.plan(prepared, ranks)
        milliseconds.append((time.perf_counter() - begun) * 1e3)
        pairs.append(pairs_by_rank(lengths, planner.read(plan), ranks))
    score = score_pairs(pairs, statistics.median(milliseconds))
    return {"name": planner.name, "cp": ranks, "note": planner.note, **asdict(score)}


def main(arguments: list[str]) -> int:
    """Prints what was measured of the adapter's planners."""
    adapter, file, *groups = arguments
    micro_batches = json.loads(Path(file).read_text(encoding="utf-8"))
    with contextlib.redirect_stdout(sys.stderr):
        module = importlib.import_module(adapter)
        results = [
            measure(planner, micro_batches, int(ranks))
            for ranks in groups
            for planner in module.planners()
        ]
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
