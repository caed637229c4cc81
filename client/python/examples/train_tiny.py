"""A small decoder trained on real text, while ranks and the server are killed.

    python train_tiny.py --server-program build/bin/evenpack-server --local

Starts a packing server and four ranks (DP 2 x CP 2, processes over Gloo) that train
three million parameters on the docstrings of Python's standard library. On the way a
rank is killed, and all go on from the last checkpoint; the server is killed and started
again; the job is reshaped to DP 1 x CP 2. The same is done without the kills, then also
without the reshaping, and with --local once more with the engine in each rank's process
and no server. In every run each document must have been trained on exactly once, and
all must have the same losses.

Prints a line a step and a summary; exit status 1 where a check fails. What a rank does
is in tiny_training/rank.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenpack import Client, EvenpackError
from evenpack.corpora import IndexedDataset
from evenpack.ingest import ingest
from tiny_training.comparison import (
    compare,
    differences_of,
    failures_of,
    undone_difference,
)
from tiny_training.disturbances import Disturbances
from tiny_training.documents import (
    document_lengths,
    packed_documents,
    write_documents,
)
from tiny_training.rank_processes import RankLostError
from tiny_training.service_process import PackingServer, StartError
from tiny_training.sizes import SIZES, job_spec
from tiny_training.training_run import (
    DATA_PARALLEL,
    Outcome,
    Settings,
    TrainingRun,
)

_BUILT = Path(__file__).resolve().parents[3] / "build" / "bin"


def _program(given: str | None, flag: str, name: str) -> str:
    """Path of one of the repository's programs."""
    found = given or shutil.which(name, path=str(_BUILT)) or shutil.which(name)
    if found is None:
        raise StartError(f"{flag}: no {name} in {_BUILT} or PATH; accepted: its path")
    return found


def _make_job(address: str, name: str, size: str, corpus: IndexedDataset) -> None:
    """A job that has all documents."""
    client = Client(address)
    client.create_job(name, job_spec(SIZES[size], DATA_PARALLEL))
    with client.producer(name, "text") as producer:
        ingest(producer, packed_documents(corpus))


def _all_runs(
    arguments: argparse.Namespace, folder: Path, settings: Settings
) -> dict[str, Outcome]:
    """The runs by their names."""
    corpus = IndexedDataset(settings.corpus)
    plan: Disturbances = arguments.disturb
    plans = {"disturbed": plan, "undisturbed": plan.without_kills()}
    if plan.reshape is not None:
        plans["unreshaped"] = Disturbances()
    outcomes = {}
    program = _program(arguments.server_program, "--server-program", "evenpack-server")
    with PackingServer(program, folder) as server:
        for name, its_plan in plans.items():
            _make_job(server.address, name, settings.size, corpus)
            run = TrainingRun(settings, name, folder / name, server, its_plan)
            outcomes[name] = run.run()
    if arguments.local:
        its_plan = plan.without_kills()
        run = TrainingRun(settings, "local", folder / "local", None, its_plan)
        outcomes["local"] = run.run()
    return outcomes


def _report(outcomes: dict[str, Outcome], corpus: IndexedDataset) -> dict[str, Any]:
    """What --json prints: the runs, how they compare, and what failed."""
    lengths = document_lengths(corpus)
    disturbed = outcomes["disturbed"]
    failures: list[str] = []
    runs, comparisons = {}, {}
    for name, outcome in outcomes.items():
        runs[name] = {
            "losses": [outcome.losses[step] for step in sorted(outcome.losses)],
            "launches": outcome.launches,
            "ranks_killed": outcome.ranks_killed,
            "servers_killed": outcome.servers_killed,
            "steps_done_again": sorted(outcome.undone),
            "largest_difference_when_done_again": undone_difference(outcome),
            "account": outcome.end["account"],
            "seconds": round(outcome.seconds, 1),
        }
        wrong = failures_of(outcome, len(lengths))
        if outcome is not disturbed:
            comparison = compare(disturbed, outcome)
            comparisons[name] = asdict(comparison)
            wrong += differences_of(comparison)
        failures += [f"{name}: {failure}" for failure in wrong]
    return {
        "documents": len(lengths),
        "tokens": int(lengths.sum()),
        "steps": len(disturbed.losses),
        "runs": runs,
        "comparisons": comparisons,
        "failures": failures,
    }


def _summary(report: dict[str, Any]) -> str:
    """The report for people."""
    lines = [
        f"{report['steps']} steps of {report['documents']} documents, "
        f"{report['tokens']} tokens"
    ]
    for name, run in report["runs"].items():
        lines.append(
            f"{name}: loss {run['losses'][0]:.4f} to {run['losses'][-1]:.4f}; "
            f"{run['account']['seen_once']} documents seen once; "
            f"{run['launches']} launches, {run['ranks_killed']} ranks and "
            f"{run['servers_killed']} servers killed, "
            f"{len(run['steps_done_again'])} steps done again; {run['seconds']} s"
        )
    for name, comparison in report["comparisons"].items():
        weights = "the same" if comparison["same_weights"] else "other"
        lines.append(
            f"{name} against disturbed: losses differ by at most "
            f"{comparison['largest_difference']:.1e}, relative; {weights} weights"
        )
    return "\n".join(lines)


def _launch(arguments: argparse.Namespace) -> int:
    """All runs, and their checks; the exit status."""
    size = SIZES[arguments.size]

    def progress(line: str) -> None:
        print(line, file=sys.stderr if arguments.json else sys.stdout, flush=True)

    worker = ""
    if arguments.backend == "sidecar":
        worker = _program(
            arguments.worker_program, "--worker-program", "evenpack-worker"
        )
    with tempfile.TemporaryDirectory(prefix="train-tiny-") as name:
        folder = Path(name)
        settings = Settings(
            corpus=folder / "docstrings",
            size=arguments.size,
            backend=arguments.backend,
            worker_program=worker,
            progress=progress,
        )
        write_documents(settings.corpus, size.documents, size.window)
        outcomes = _all_runs(arguments, folder, settings)
        report = _report(outcomes, IndexedDataset(settings.corpus))
    print(json.dumps(report) if arguments.json else _summary(report))
    for failure in report["failures"]:
        print(f"train_tiny: {failure}", file=sys.stderr)
    return 1 if report["failures"] else 0


def _plan(text: str) -> Disturbances:
    """For argparse, which shows the message of its own error alone."""
    try:
        return Disturbances.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument(
        "--disturb",
        type=_plan,
        metavar="PLAN",
        help="what happens behind which steps, as rank@6,server@10,reshape@14: a rank "
        "is killed, the server is, the job goes on under DP 1; default: of the size",
    )
    parser.add_argument(
        "--local", action="store_true", help="one run more, without a server"
    )
    parser.add_argument(
        "--backend",
        choices=["inprocess", "sidecar"],
        default="inprocess",
        help="where attention is computed: in each rank, or in a process beside it",
    )
    parser.add_argument("--server-program", metavar="FILE", help="evenpack-server")
    parser.add_argument("--worker-program", metavar="FILE", help="evenpack-worker")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.disturb is None:
        arguments.disturb = Disturbances.parse(SIZES[arguments.size].disturbances)
    return arguments


def main() -> int:
    """Trains as the arguments say; the exit status."""
    arguments = _parse()
    # One thread adds in one order; and no run looks for a device.
    os.environ.update(OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    # Ends what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return _launch(arguments)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (EvenpackError, RankLostError, StartError, ValueError) as error:
        print(f"train_tiny: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
