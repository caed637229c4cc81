"""What docs/balance.md shows, study by study, as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from length_families import FAMILIES, WINDOW, write
from packed import CROSSOVER, Packed, Packer, Shape, run_json, side_by_side
from threshold_grid import (
    GRID,
    Trial,
    balanced_prices,
    best,
    best_within,
    frontier,
    wlb_grid,
)

MICRO_BATCHES = (4, 16, 64)
MAX_LENGTHS = (WINDOW, WINDOW * 5 // 4, WINDOW * 3 // 2)
WIDE = MAX_LENGTHS[-1]
# Attention costs 1 + x times what steps are decided by.
COST_ERRORS = (0.25, -0.25)
DELAYS = (4, 8, 16, 32)
SEEDS = (1, 2, 3)

Json = dict[str, Any]


def _shown(trial: Trial | None) -> Json | None:
    if trial is None:
        return None
    return {"setting": list(trial.setting), **asdict(trial.packed)}


def _all(packed: Packed) -> float:
    return packed.excess_all


def _full(packed: Packed) -> float:
    return packed.excess


def _run(packed: Packed) -> float:
    return packed.excess_run


class Studies:
    """Everything is packed by one program; files of lengths go into one folder."""

    def __init__(self, packer: Packer, reference: str, folder: Path) -> None:
        """`reference`: the program offline_reference."""
        self._packer = packer
        self._reference = reference
        folder.mkdir(parents=True, exist_ok=True)
        self._files = {family.name: write(family, folder) for family in FAMILIES}
        self._given = self._files["given"]

    def thresholds(self) -> list[Json]:
        """`balanced` against `wlb` with its best thresholds: every family and shape."""
        return [
            self._against_grid(family.name, micro_batches, max_length)
            for family in FAMILIES
            for micro_batches in MICRO_BATCHES
            for max_length in MAX_LENGTHS
        ]

    def _against_grid(self, name: str, micro_batches: int, max_length: int) -> Json:
        shape = Shape(self._files[name], micro_batches, max_length)
        default = self._packer.pack(shape, "balanced")
        grid = wlb_grid(self._packer, shape)
        prices = balanced_prices(self._packer, shape)
        cell: Json = {
            "family": name,
            "micro_batches": micro_batches,
            "max_length": max_length,
            "balanced": asdict(default),
        }
        measures = (("excess_all", _all), ("excess", _full), ("excess_run", _run))
        for measure, of in measures:
            found = best(grid, of)
            cell[f"by_{measure}"] = {
                "wlb": _shown(found),
                "wlb_as_soon": _shown(best_within(grid, default.delay, of)),
                "balanced_as_late": _shown(best_within(prices, found.packed.delay, of)),
            }
        return cell

    def frontiers(self) -> list[Json]:
        """Excess against delay on the given lengths."""
        return [self._frontiers(count) for count in MICRO_BATCHES]

    def _frontiers(self, micro_batches: int) -> Json:
        shape = Shape(self._given, micro_batches, WIDE)
        curves = {
            "balanced": balanced_prices(self._packer, shape),
            "balanced, CV 0.05": balanced_prices(
                self._packer, shape, "--token-cv", "0.05"
            ),
            "wlb, best thresholds": frontier(wlb_grid(self._packer, shape), _all),
        }
        return {
            "micro_batches": micro_batches,
            "curves": {
                name: [_shown(trial) for trial in trials]
                for name, trials in curves.items()
            },
        }

    def lone_documents(self) -> Json:
        """How long a document may be that stands alone in a balanced step of N x L."""
        lengths = [int(line) for line in self._given.read_text().split()]
        return {"steps": [lone_document(lengths, n) for n in MICRO_BATCHES]}

    def robustness(self) -> list[Json]:
        """Decided with attention's cost wrong; thresholds the best in hindsight."""
        cells = []
        for micro_batches in MICRO_BATCHES:
            shape = Shape(self._given, micro_batches, WIDE)
            for error in COST_ERRORS:
                wrong = ("--crossover-error", str(error))
                runs = {
                    name: self._packer.pack(shape, "balanced", *flags, *wrong)
                    for name, flags in ATTENTION_ERRORS.items()
                }
                grid = wlb_grid(self._packer, shape, *wrong)
                cells.append(
                    {
                        "micro_batches": micro_batches,
                        "error": error,
                        "balanced": {name: asdict(run) for name, run in runs.items()},
                        "wlb": _shown(best(grid, _all)),
                    }
                )
        return cells

    def offline(self, operations: int) -> list[Json]:
        """The offline reference at each bound on delay, over shuffles."""
        cases = [
            (micro_batches, delay, seed)
            for micro_batches in (4, 16)
            for delay in DELAYS
            for seed in SEEDS
        ]

        def run(case: tuple[int, int, int]) -> Json:
            micro_batches, delay, seed = case
            documents = 20_000 if micro_batches == 4 else 40_000
            shape = [documents, micro_batches, WIDE, delay, operations, seed]
            found = run_json(
                [self._reference, str(self._given), *(str(value) for value in shape)]
            )
            return {
                "micro_batches": micro_batches,
                "delay": delay,
                "seed": seed,
                **found,
            }

        return side_by_side(run, cases)

    def short_bounds(self) -> list[Json]:
        """Bounds on delay that leave little to choose: `wlb` beside `balanced`."""
        shape = Shape(self._given, 4, WIDE)
        rows = []
        for delay in (0, 1, 2, 4, 8):
            bound = ("--max-delay", str(delay))
            grid = wlb_grid(self._packer, shape, *bound)
            rows.append(
                {
                    "delay": delay,
                    "balanced": asdict(self._packer.pack(shape, "balanced", *bound)),
                    "wlb": _shown(best(grid, _all)),
                }
            )
        return rows

    def exact(self) -> Json:
        """Each global batch packed exactly, as nobody can who delays nothing."""
        shape = Shape(self._given, 4, WIDE)
        steps = ("--steps", "48")
        policies = {"varlen_solver": steps, "wlb": steps, "balanced": steps}
        return {
            name: asdict(self._packer.pack(shape, name, *flags))
            for name, flags in policies.items()
        }

    def simulated(self) -> Json:
        """The paper's configurations and 405B on 8,192 GPUs."""
        balanced = ("--policy", "balanced")
        tables = {
            sharding: self._packer.simulate(
                "paper", self._given, *balanced, "--sharding", sharding
            )
            for sharding in ("adaptive", "hybrid")
        }
        return {
            "paper": tables,
            "large": {
                f"{policy} {sharding}": self._packer.simulate(
                    "405B-128K",
                    self._given,
                    *("--policy", policy, "--sharding", sharding),
                )
                for policy in ("wlb", "balanced")
                for sharding in ("adaptive", "hybrid")
            },
        }

    def ablation(self) -> Json:
        """Each idea off, and all of them on."""
        packed: Json = {}
        for name, flags in PACK_ABLATIONS.items():
            packed[name] = [
                asdict(
                    self._packer.pack(Shape(self._given, n, WIDE), "balanced", *flags)
                )
                for n in MICRO_BATCHES
            ]
        simulated: Json = {}
        for name, flags in SIMULATED_ABLATIONS.items():
            simulated[name] = {
                config: self._packer.simulate(
                    config, self._given, "--policy", "balanced", *flags
                )
                for config in ("7B-128K", "405B-128K")
            }
        return {"packed": packed, "simulated": simulated}

    def decision_times(self) -> list[Json]:
        """Medians of the medians of five runs each, in turns."""
        rows = []
        for micro_batches in MICRO_BATCHES:
            shape = Shape(self._given, micro_batches, WIDE)
            queues = ("--queue-thresholds", "49152,98304")
            runs: dict[str, list[Packed]] = {"wlb": [], "balanced": []}
            for _ in range(5):
                runs["wlb"].append(self._packer.pack(shape, "wlb", *queues))
                runs["balanced"].append(self._packer.pack(shape, "balanced"))
            rows.append(
                {
                    "micro_batches": micro_batches,
                    "operations": runs["balanced"][0].operations,
                    **{
                        name: statistics.median(run.decide_seconds for run in of)
                        for name, of in runs.items()
                    },
                }
            )
        return rows


# 0.25 is the default.
ATTENTION_ERRORS: dict[str, Sequence[str]] = {
    "0": ("--attention-error", "0"),
    "0.25": (),
    "0.5": ("--attention-error", "0.5"),
}
PACK_ABLATIONS: dict[str, Sequence[str]] = {
    "all on": (),
    "`--attention-error 0`": ("--attention-error", "0"),
    "`--release level`": ("--release", "level"),
    "`--finish false`": ("--finish", "false"),
    "`--release class`": ("--release", "class"),
    "`--release class --finish false`": ("--release", "class", "--finish", "false"),
}
SIMULATED_ABLATIONS: dict[str, Sequence[str]] = {
    "all on, hybrid": ("--sharding", "hybrid"),
    "adaptive": ("--sharding", "adaptive"),
    "hybrid, `--placement given`": ("--sharding", "hybrid", "--placement", "given"),
    "hybrid, `--release class`": ("--sharding", "hybrid", "--release", "class"),
    "hybrid, `--finish false`": ("--sharding", "hybrid", "--finish", "false"),
    "adaptive, `--placement given`, `--release class`, `--finish false`": (
        *("--sharding", "adaptive", "--placement", "given"),
        *("--release", "class", "--finish", "false"),
    ),
}


def load(length: float) -> float:
    """A document's work, in tokens' worth of all but attention."""
    return length + length * length / CROSSOVER


def lone_document(lengths: Iterable[int], micro_batches: int) -> Json:
    """Of a step of N x L tokens whose other documents are below a quarter window.

    longest: the document that is as heavy as the step's mean micro-batch, so that no
    longer one can stand alone. share_longer: of all tokens, those of longer documents.
    degree_100k: the least imbalance degree with one document of 100,000 tokens.
    """
    given = list(lengths)
    short = [length for length in given if length < WINDOW // 4]
    per_token = sum(map(load, short)) / sum(short)
    step = micro_batches * WINDOW

    def mean(length: float) -> float:
        return (per_token * (step - length) + load(length)) / micro_batches

    least, most = 0.0, float(WINDOW)
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (middle, most) if load(middle) < mean(middle) else (least, middle)
    longest = math.floor(least)
    longer = sum(length for length in given if length > longest)
    return {
        "micro_batches": micro_batches,
        "longest": longest,
        "share_longer": longer / sum(given),
        "degree_100k": max(1.0, load(100_000) / mean(100_000)),
    }


def every_study(studies: Studies, operations: int) -> dict[str, Callable[[], object]]:
    """By name, in the page's order."""
    return {
        "grid": lambda: len(GRID),
        "thresholds": studies.thresholds,
        "frontiers": studies.frontiers,
        "lone_documents": studies.lone_documents,
        "offline": lambda: studies.offline(operations),
        "short_bounds": studies.short_bounds,
        "exact": studies.exact,
        "robustness": studies.robustness,
        "simulated": studies.simulated,
        "ablation": studies.ablation,
        "decision_times": studies.decision_times,
    }
