"""Tests that training goes on as if nothing had been, and that its checks can fail.

The program is run as a whole: a server and ranks that are killed, a job that is
reshaped. What it says of that is judged here again, from its numbers.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack import PackedDataset, Step
from evenpack.corpora import IndexedDataset
from numpy.typing import NDArray

pytest.importorskip("torch")

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
from tiny_training.sizes import SIZES, job_spec
from tiny_training.token_ledger import Account, TokenLedger
from tiny_training.training_run import Outcome

EXAMPLE = Path(__file__).parents[3] / "client/python/examples/train_tiny.py"
PROGRAMS = {
    "--server-program": os.environ["EVENPACK_SERVER_PROGRAM"],
    "--worker-program": os.environ["EVENPACK_WORKER_PROGRAM"],
}
# Relative, of a step's loss.
NOISE = 1e-5
Report = dict[str, Any]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, to its end; one that takes too long ends what it started."""
    flags = [word for flag in PROGRAMS.items() for word in flag]
    command = [sys.executable, str(EXAMPLE), "--size", "tiny", *flags, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            output, errors = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.terminate()
            _, errors = process.communicate()
            raise AssertionError(f"it did not end: {errors}") from None
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _report(*arguments: str) -> Report:
    ended = _run("--json", *arguments)
    assert ended.returncode == 0, ended.stderr
    report: Report = json.loads(ended.stdout)
    return report


def _furthest(one: list[float], other: list[float]) -> float:
    """The largest relative difference of two runs' losses."""
    pairs = zip(one, other, strict=True)
    return max(abs(a - b) / max(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def report() -> Report:
    """Of all runs, attention in the ranks' processes."""
    return _report("--local")


def test_ranks_and_server_are_killed_and_the_job_is_reshaped(report: Report) -> None:
    disturbed = report["runs"]["disturbed"]
    assert disturbed["ranks_killed"] == 1
    assert disturbed["servers_killed"] == 1
    # Of the checkpoint after step 2: the rank was killed behind step 4.
    assert {3, 4} <= set(disturbed["steps_done_again"]) <= {3, 4, 5}
    # From the first step, from the checkpoint, and under DP 1.
    assert disturbed["launches"] == 3


def test_nothing_disturbs_the_runs_that_it_is_compared_with(report: Report) -> None:
    launches = {"undisturbed": 2, "unreshaped": 1, "local": 2}
    assert report["runs"].keys() == {"disturbed", *launches}
    for name, count in launches.items():
        run = report["runs"][name]
        assert (run["ranks_killed"], run["servers_killed"]) == (0, 0)
        assert run["steps_done_again"] == []
        assert run["launches"] == count


def test_every_document_is_trained_on_exactly_once(report: Report) -> None:
    documents = SIZES["tiny"].documents
    assert report["documents"] == documents
    assert report["tokens"] > documents
    for run in report["runs"].values():
        assert run["account"] == {"seen_once": documents, "lost": [], "repeated": []}


def test_losses_are_those_of_the_undisturbed_run(report: Report) -> None:
    runs = report["runs"]
    losses = runs["disturbed"]["losses"]
    assert len(losses) == report["steps"] > 10
    for other in ("undisturbed", "unreshaped", "local"):
        assert _furthest(losses, runs[other]["losses"]) <= NOISE
    assert runs["disturbed"]["largest_difference_when_done_again"] <= NOISE
    assert report["failures"] == []


def test_the_model_learns(report: Report) -> None:
    losses = report["runs"]["disturbed"]["losses"]
    # It begins with guessing among 256 bytes.
    assert losses[0] == pytest.approx(math.log(256), rel=0.1)
    assert max(losses[-3:]) < losses[0] - 0.5


def test_sidecars_compute_the_same(report: Report) -> None:
    beside = _report("--backend", "sidecar")["runs"]["disturbed"]
    within = report["runs"]["disturbed"]
    assert beside["ranks_killed"] == beside["servers_killed"] == 1
    assert beside["account"] == within["account"]
    assert _furthest(beside["losses"], within["losses"]) <= NOISE


def test_a_program_that_is_missing_is_named() -> None:
    ended = _run("--server-program", "/nowhere/evenpack-server")
    assert ended.returncode == 1
    assert ended.stderr == (
        "train_tiny: /nowhere/evenpack-server: No such file or directory\n"
    )


def test_a_plan_that_is_none_is_refused() -> None:
    ended = _run("--disturb", "rank@4,network@5")
    assert ended.returncode == 2
    assert "'network@5' is not accepted; accepted: rank@STEP" in ended.stderr


def test_documents_are_text_that_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("once", "again"):
        write_documents(tmp_path / name, documents=30, longest=64)
    once = (tmp_path / "once.bin").read_bytes()
    assert once == (tmp_path / "again.bin").read_bytes()
    corpus = IndexedDataset(tmp_path / "once")
    lengths = document_lengths(corpus)
    assert len(lengths) == 30
    assert lengths.max() == 64
    words = corpus.tokens(0).tobytes().decode().split()
    assert len(words) > 3
    assert all(word.isprintable() for word in words)
    # Nothing predicts a document's first token.
    (packed,) = packed_documents(corpus).documents()
    assert packed.loss_tokens is not None
    assert (packed.loss_tokens == lengths - 1).all()


def test_more_documents_than_there_are_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"documents: 1000000 is not accepted"):
        write_documents(tmp_path / "all", documents=1_000_000, longest=64)


def test_a_plan_says_what_happens_behind_which_step() -> None:
    plan = Disturbances.parse("server@7,rank@4,rank@2,reshape@9")
    assert str(plan) == "rank@2,rank@4,server@7,reshape@9"
    assert str(plan.without_rank(2).without_server(7)) == "rank@4,reshape@9"
    assert str(plan.without_kills()) == "reshape@9"
    assert str(Disturbances.parse("")) == ""
    with pytest.raises(ValueError, match="accepted: one reshape@STEP"):
        Disturbances.parse("reshape@1,reshape@2")


@pytest.fixture(scope="module")
def lengths() -> NDArray[np.uint32]:
    """Of documents as long as those of the program."""
    drawn = np.random.default_rng(2).lognormal(4.5, 1.0, 60)
    return np.clip(drawn, 2, SIZES["tiny"].window).astype(np.uint32)


@pytest.fixture(scope="module")
def steps(lengths: NDArray[np.uint32]) -> list[Step]:
    """All steps of a job of these documents, for one DP rank and two CP ranks."""
    return list(PackedDataset(spec=job_spec(SIZES["tiny"], 1), lengths=lengths))


def _documents(step: Step) -> set[int]:
    return {number for part in step for number in part.sequence.tolist()}


def _account(
    lengths: NDArray[np.uint32], steps: list[Step], cp_ranks: tuple[int, ...] = (0, 1)
) -> Account:
    """Of what these ranks have of the steps."""
    ledgers = [TokenLedger(lengths) for _ in cp_ranks]
    for step in steps:
        for micro_batch in step:
            for rank, ledger in zip(cp_ranks, ledgers, strict=True):
                indices = micro_batch.slices(rank).token_indices
                ledger.add(ledger.places(micro_batch, indices))
    return ledgers[0].account(np.sum([each.counts for each in ledgers], axis=0))


def test_the_account_of_a_whole_run_is_right(
    lengths: NDArray[np.uint32], steps: list[Step]
) -> None:
    assert _account(lengths, steps) == Account(len(lengths), [], [])


def test_the_account_names_documents_of_a_step_that_was_left_out(
    lengths: NDArray[np.uint32], steps: list[Step]
) -> None:
    lost = sorted(_documents(steps[2]))
    account = _account(lengths, [*steps[:2], *steps[3:]])
    assert account == Account(len(lengths) - len(lost), lost, [])


def test_the_account_names_documents_of_a_step_that_came_twice(
    lengths: NDArray[np.uint32], steps: list[Step]
) -> None:
    repeated = sorted(_documents(steps[1]))
    account = _account(lengths, [*steps[:2], *steps[1:]])
    assert account == Account(len(lengths) - len(repeated), [], repeated)


def test_the_account_misses_what_one_rank_did_not_train_on(
    lengths: NDArray[np.uint32], steps: list[Step]
) -> None:
    account = _account(lengths, steps, cp_ranks=(0,))
    # The documents are cut over both ranks.
    assert account.lost == list(range(len(lengths)))
    twice = _account(lengths, steps, cp_ranks=(0, 0, 1))
    assert twice.repeated == account.lost


def _outcome(losses: list[float]) -> Outcome:
    """Of a run that did what it had to, with 7 documents."""
    account = {"seen_once": 7, "lost": [], "repeated": []}
    return Outcome(
        losses=dict(enumerate(losses)),
        digests={step: f"{step}" for step in range(len(losses))},
        end={"ended": len(losses), "weights": "same", "account": account},
    )


RIGHT = _outcome([5.0, 4.0])


def test_a_run_that_did_what_it_had_to_passes() -> None:
    assert failures_of(RIGHT, documents=7) == []
    assert differences_of(compare(RIGHT, _outcome([5.00001, 4.0]))) == []


@pytest.mark.parametrize(
    ("account", "failure"),
    [
        ({"seen_once": 6, "lost": [3], "repeated": []}, "1 documents lost: 3"),
        (
            {"seen_once": 0, "lost": [], "repeated": list(range(7))},
            "7 documents repeated: 0, 1, 2, 3, 4 ...",
        ),
        (
            {"seen_once": 6, "lost": [], "repeated": []},
            "6 of 7 documents seen once",
        ),
    ],
)
def test_documents_not_seen_once_fail(account: dict[str, Any], failure: str) -> None:
    run = replace(RIGHT, end=RIGHT.end | {"account": account})
    assert failure in failures_of(run, documents=7)


def test_what_never_came_fails() -> None:
    run = replace(RIGHT, pending="rank@9")
    assert failures_of(run, 7) == ["rank@9 never came: it had 2 steps"]
    assert failures_of(replace(RIGHT, end=RIGHT.end | {"ended": 3}), 7) == [
        "steps [0, 1] of 3"
    ]


@pytest.mark.parametrize("first_time", [4.001, math.nan])
def test_a_step_that_differs_when_done_again_fails(first_time: float) -> None:
    run = replace(RIGHT, undone={1: first_time})
    assert undone_difference(run) > NOISE
    assert any("done again differ" in failure for failure in failures_of(run, 7))
    assert undone_difference(replace(RIGHT, undone={1: 4.0})) == 0


@pytest.mark.parametrize("losses", [[5.0, 4.001], [5.0], [5.0, math.nan]])
def test_other_losses_fail(losses: list[float]) -> None:
    failures = differences_of(compare(RIGHT, _outcome(losses)))
    assert any("losses differ by" in failure for failure in failures)


def test_other_steps_fail() -> None:
    other = replace(RIGHT, digests={0: "0", 1: "another"})
    assert differences_of(compare(RIGHT, other)) == ["other steps"]
