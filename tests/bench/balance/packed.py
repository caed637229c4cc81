"""Runs `evenpackctl pack` and `simulate`, and keeps the figures that are compared."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from length_families import WINDOW

CROSSOVER = 47_000
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Shape:
    """A job's: lengths, micro-batches N, most tokens of one."""

    lengths: Path
    micro_batches: int
    max_length: int


@dataclass(frozen=True)
class Packed:
    """One run. Excess is max over mean of the micro-batches' workload, less 1."""

    # Of full steps, warm-up left out; of all steps but the drain; of all steps.
    excess: float
    excess_all: float
    excess_run: float
    # Global batches, the mean over tokens; the longest of a document.
    delay: float
    longest_delay: int
    full_steps: int
    backlog_steps: int
    drain_steps: int
    tokens_cv: float
    tokens_least: int
    tokens_most: int
    # p5, p50, p95 over steps, and the stream's.
    long_share: tuple[float, float, float, float]
    # Sum of the heaviest micro-batches, the drain's too.
    forward_seconds: float
    # Of a decision, the median; levels and exchanges tried, the mean.
    decide_seconds: float
    operations: float


def packed_from(report: dict[str, Any]) -> Packed:
    """The figures of a report of `pack --json` that has full steps."""
    tokens, shares = report["tokens_per_step"], report["long_token_share"]
    return Packed(
        excess=report["imbalance_degree"]["weighted"] - 1,
        excess_all=report["imbalance_weighted_all"] - 1,
        excess_run=report["imbalance_weighted_run"] - 1,
        delay=report["token_delay_mean"],
        longest_delay=report["document_delay"]["max"],
        full_steps=report["steps"],
        backlog_steps=report["backlog_steps"],
        drain_steps=report["drain_steps"],
        tokens_cv=tokens["cv"],
        tokens_least=tokens["min"],
        tokens_most=tokens["max"],
        long_share=(shares["p5"], shares["p50"], shares["p95"], shares["stream"]),
        forward_seconds=report["predicted_forward_seconds"],
        decide_seconds=report["decide_seconds"]["p50"],
        operations=report["search_operations"],
    )


def run_json(command: Sequence[str]) -> dict[str, Any]:
    """What a program writes; SystemExit with its message where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def pack_command(
    program: str, shape: Shape, policy: str, flags: Sequence[str]
) -> list[str]:
    """`evenpackctl pack` of the shape."""
    numbers = {
        "--micro-batches": shape.micro_batches,
        "--window": WINDOW,
        "--max-length": shape.max_length,
        "--crossover": CROSSOVER,
    }
    command = [program, "pack", "--policy", policy, "--lengths", str(shape.lengths)]
    for flag, value in numbers.items():
        command += [flag, str(value)]
    return [*command, *flags, "--json"]


class Packer:
    """Packs with one program."""

    def __init__(self, program: str) -> None:
        """`program`: evenpackctl's path."""
        self.program = program

    def pack(self, shape: Shape, policy: str, *flags: str) -> Packed:
        """One run."""
        return packed_from(run_json(pack_command(self.program, shape, policy, flags)))

    def simulate(self, config: str, lengths: Path, *flags: str) -> dict[str, Any]:
        """The report of `simulate --json`."""
        return run_json(
            [
                *(self.program, "simulate", "--config", config),
                *("--lengths", str(lengths), *flags, "--json"),
            ]
        )


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results in order, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(work, items))
