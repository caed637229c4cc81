"""Measures every peer and Evenpack on the same documents, and prints tables.

    compare_peers.py --python PROGRAM --evenpackctl PROGRAM --lengths FILE
                     [--steps N] [--failed FILE] [--json FILE]

--python: of the environment that the peers were installed in. --failed: a line
`PEER TAB REASON` for each that couldn't be. Each adapter is measured in a process of
its own; one that fails is listed with the reason and the others go on. run.sh beside
this does all of it; docs/peers.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ours
from columns import aligned, number
from cp_plans import even_micro_batches
from packer import Shape, read_lengths

WINDOW = 131_072
MAX_LENGTH = WINDOW + WINDOW // 2

# By the name of packages.txt.
PACKERS = {
    "verl": "verl_packer",
    "trl": "trl_packer",
    "axolotl": "axolotl_packer",
    "megatron": "megatron_packer",
}
SOLVERS = {"ortools": "ortools_solver", "highs": "highs_solver"}
PLANNERS = {"torch": "pytorch_planner"}

CP_GROUPS = (4, 8, 16)
CP_MICRO_BATCHES = 20
SHARDINGS = ("per_sequence", "per_document", "adaptive")

# For an adapter's import and all its calls.
ADAPTER_SECONDS = 900


@dataclass(frozen=True)
class Size:
    """What is packed at one N: steps for the packers, batches for the solvers."""

    micro_batches: int
    steps: int
    solved: int
    seconds: int = 10

    def shape(self) -> Shape:
        """The job's shape."""
        return Shape(self.micro_batches, WINDOW, MAX_LENGTH)

    def arguments(self, count: int) -> list[str]:
        """What measure_peer.py takes behind the lengths."""
        return [str(n) for n in (self.micro_batches, WINDOW, MAX_LENGTH, count)]


def sizes_of(steps: int) -> list[Size]:
    """N = 4, and N = 64 with fewer steps, since each has 16 times as many documents."""
    return [
        Size(4, steps, solved=5),
        Size(64, max(1, steps // 5), solved=2, seconds=30),
    ]


class Peers:
    """Runs adapters and keeps why some didn't run."""

    def __init__(self, python: Path, failed: dict[str, str]) -> None:
        """`failed`: reasons by the name of the peer."""
        self._python = python
        self.failed = dict(failed)

    def measure(self, peer: str, script: str, arguments: Sequence[str]) -> list[Any]:
        """What `script` printed, or nothing where the peer doesn't run."""
        if peer in self.failed:
            return []
        here = Path(__file__).resolve().parent
        command = [str(self._python), "-B", str(here / script), *arguments]
        print(f"measuring {peer}: {' '.join(arguments)}", file=sys.stderr)
        try:
            result = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=ADAPTER_SECONDS,
                env={**os.environ, "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"},
            )
        except subprocess.TimeoutExpired:
            self.fail(peer, arguments, f"not done after {ADAPTER_SECONDS} s")
            return []
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines() or ["no message"]
            self.fail(peer, arguments, f"{lines[-1]} (status {result.returncode})")
            return []
        rows: list[Any] = json.loads(result.stdout)
        return rows

    def fail(self, peer: str, arguments: Sequence[str], reason: str) -> None:
        """Keeps why a peer has no rows for these arguments."""
        self.failed[f"{peer} {' '.join(arguments[2:])}"] = reason


def measure_size(
    peers: Peers, program: Path, lengths: Path, size: Size
) -> dict[str, Any]:
    """The tables of packers and of solvers at one N."""
    shape = size.shape()
    packers, solvers = [], []
    for peer, adapter in PACKERS.items():
        arguments = [adapter, str(lengths), *size.arguments(size.steps)]
        packers += peers.measure(peer, "measure_peer.py", arguments)
    packers += ours.policies(program, lengths, shape, size.steps)
    for peer, adapter in SOLVERS.items():
        arguments = [adapter, str(lengths), *size.arguments(size.solved)]
        arguments.append(str(size.seconds))
        solvers += peers.measure(peer, "measure_solver.py", arguments)
    solvers.append(ours.without_delay(program, lengths, shape, size.solved))
    return {**asdict(size), "packers": packers, "solvers": solvers}


def measure_plans(peers: Peers, program: Path, lengths: Path) -> list[dict[str, Any]]:
    """The table of context-parallel plans."""
    batches = even_micro_batches(read_lengths(lengths), WINDOW, CP_MICRO_BATCHES)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "micro_batches.json"
        file.write_text(json.dumps(batches), encoding="utf-8")
        groups = [str(ranks) for ranks in CP_GROUPS]
        for peer, adapter in PLANNERS.items():
            arguments = [adapter, str(file), *groups]
            rows += peers.measure(peer, "measure_planner.py", arguments)
    for ranks in CP_GROUPS:
        for sharding in SHARDINGS:
            score = ours.shard(program, batches, ranks, sharding)
            note = "by predicted latency" if sharding == "adaptive" else ""
            row = {"name": f"evenpack, {sharding}", "cp": ranks, "note": note}
            rows.append({**row, **asdict(score)})
    return sorted(rows, key=lambda row: int(row["cp"]))


def packer_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Columns of the packers."""
    cells = [
        "packer,ms/step,imbalance,weighted,over cap,fill,micro-batches,left out,"
        "optimises,note".split(",")
    ]
    for row in rows:
        cells.append(
            [
                row["name"],
                number(row["ms"]),
                ratio(row["imbalance"]),
                ratio(row["weighted"]),
                f"{row['over']:.2%}",
                ratio(row["fill"]),
                f"{row['micro_batches']:,}",
                f"{row['dropped']:,}",
                row["optimises"],
                row["note"],
            ]
        )
    return aligned(cells, left={0, 8, 9})


def solver_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Columns of the solvers."""
    cells = ["solver,ms/step,imbalance,bound,proven best".split(",")]
    for row in rows:
        proven = f"{row['proven']} of {row['steps']}" if "proven" in row else ""
        bound = f"{row['bound']:.5f}" if "bound" in row else ""
        cells.append(
            [row["name"], number(row["ms"]), ratio(row["imbalance"], 5), bound, proven]
        )
    return aligned(cells, left={0})


def plan_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Columns of the context-parallel plans."""
    cells = ["cp,planner,ms/plan,imbalance,worst,note".split(",")]
    for row in rows:
        cells.append(
            [
                str(row["cp"]),
                row["name"],
                number(row["ms"]),
                f"{row['imbalance']:.4f}",
                f"{row['worst']:.4f}",
                row["note"],
            ]
        )
    return aligned(cells, left={1, 5})


def ratio(value: float | None, digits: int = 3) -> str:
    """A ratio, or nothing where there was no step."""
    return "" if value is None else f"{value:.{digits}f}"


def report(result: dict[str, Any]) -> list[str]:
    """All tables."""
    lines = []
    for size in result["sizes"]:
        lines += [f"N = {size['micro_batches']}, {size['steps']} global batches"]
        lines += [*packer_table(size["packers"]), ""]
        lines += [f"N = {size['micro_batches']}, {size['solved']} batches, exactly"]
        lines += [*solver_table(size["solvers"]), ""]
    lines += [f"{CP_MICRO_BATCHES} micro-batches over context-parallel ranks"]
    lines += plan_table(result["plans"])
    if result["failed"]:
        lines += ["", "without rows"]
        lines += [f"{peer}: {reason}" for peer, reason in result["failed"].items()]
    return lines


def read_failed(path: Path | None) -> dict[str, str]:
    """Reasons by peer, from lines of `PEER TAB REASON`."""
    if path is None or not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {
        peer: reason for peer, _, reason in (line.partition("\t") for line in lines)
    }


def main(arguments: list[str]) -> int:
    """Measures all, prints the tables, writes the JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--evenpackctl", type=Path, required=True)
    parser.add_argument("--lengths", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--failed", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error(f"--steps: {options.steps}; accepted: at least 1")
    peers = Peers(options.python, read_failed(options.failed))
    program, lengths = options.evenpackctl, options.lengths
    sizes = [
        measure_size(peers, program, lengths, size) for size in sizes_of(options.steps)
    ]
    plans = measure_plans(peers, program, lengths)
    result = {"sizes": sizes, "plans": plans, "failed": peers.failed}
    print("\n".join(report(result)))
    if options.json is not None:
        text = json.dumps(result, indent=1) + "\n"
        options.json.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
