"""Evenpack through its command line, in the form in which peers are measured."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cp_plans import PlanScore, score_pairs
from packer import Shape

# compare's policies, and what they optimise.
OPTIMISES = {
    "original (whole)": "the order",
    "original (split)": "the order; cuts documents",
    "fixed_greedy (1 batch)": "workload within the window",
    "fixed_greedy (8 batches)": "workload within the window",
    "wlb (no queues)": "workload",
    "balanced": "workload and delay",
}


def run_json(program: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """What evenpackctl writes with --json."""
    command = [str(program), *arguments, "--json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def row_of_policy(figures: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """A row of the table of packers from the figures of a policy."""
    name = figures.get("name", figures["policy"])
    steps = figures["steps"]
    if figures["longest_micro_batch"] > shape.max_length:
        raise ValueError(f"{name}: {figures['longest_micro_batch']} tokens")
    # Members are null where no step was full.
    tokens = figures["tokens_per_step"]["mean"]
    return {
        "name": f"evenpack, {name}",
        "optimises": OPTIMISES.get(name, "workload; long documents wait"),
        "note": f"a token waits {figures['token_delay_mean']:.2f} batches",
        "ms": figures["decide_seconds"]["mean"] * 1e3,
        "steps": steps,
        "micro_batches": steps * shape.micro_batches,
        "imbalance": figures["imbalance_degree"]["mean"],
        "weighted": figures["imbalance_degree"]["weighted"],
        "over": 0.0,
        "fill": None if tokens is None else tokens / shape.batch_tokens,
        "dropped": figures["documents_in"] - figures["documents_out"],
    }


def job(lengths: Path, shape: Shape, steps: int) -> list[str]:
    """The flags that pack and compare share."""
    return [
        "--lengths",
        str(lengths),
        "--micro-batches",
        str(shape.micro_batches),
        "--window",
        str(shape.window),
        "--max-length",
        str(shape.max_length),
        "--steps",
        str(steps),
    ]


def policies(
    program: Path, lengths: Path, shape: Shape, steps: int
) -> list[dict[str, Any]]:
    """A row for each policy, on the first `steps` global batches."""
    compared = run_json(program, ["compare", *job(lengths, shape, steps)])
    return [row_of_policy(figures, shape) for figures in compared["policies"]]


def without_delay(
    program: Path, lengths: Path, shape: Shape, steps: int
) -> dict[str, Any]:
    """`wlb` without queues, which packs each batch by itself as a solver does."""
    arguments = ["pack", "--policy", "wlb", *job(lengths, shape, steps)]
    figures = run_json(program, arguments)
    return row_of_policy({**figures, "name": "wlb (no queues)"}, shape)


def shard(
    program: Path, micro_batches: Sequence[Sequence[int]], ranks: int, sharding: str
) -> PlanScore:
    """Plans of one sharding for all micro-batches."""
    pairs, milliseconds = [], []
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "lengths"
        for lengths in micro_batches:
            file.write_text("".join(f"{d}\n" for d in lengths), encoding="utf-8")
            arguments = ["--lengths", str(file), "--cp", str(ranks)]
            plan = run_json(program, ["shard", *arguments, "--sharding", sharding])
            pairs.append(plan["attended_pairs_per_rank"])
            milliseconds.append(plan["plan_seconds"] * 1e3)
    return score_pairs(pairs, statistics.median(milliseconds))
