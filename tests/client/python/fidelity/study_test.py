"""Tests of a study of few steps, from text to tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import study
import tables
from arms import ARMS, BASELINE
from comparison import ADDED, COMPARED_WITH, CONTROL, TESTED
from summary import BINS
from token_corpus import TokenCorpus
from training import Setting

ROOT = Path(__file__).parents[4]
SEEDS = 2


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, corpus: TokenCorpus) -> Path:
    """With the corpus made up there already."""
    folder: Path = tmp_path_factory.mktemp("study")
    corpus.save(folder / "corpus.npz")
    return folder


@pytest.fixture(scope="module")
def few_steps(setting: Setting) -> Iterator[Setting]:
    """Two dozen, the last 16 of which the noise is taken over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "NOISE_BEGIN", 0.2)
        yield replace(setting, tokens=3_200)


@pytest.fixture(scope="module")
def results(directory: Path, few_steps: Setting) -> dict[str, Any]:
    conducted = study.Study(directory, few_steps, directory)
    return study.conduct(conducted, SEEDS, noise_steps=16)


def test_the_corpus_is_made_of_text_once(tmp_path: Path, setting: Setting) -> None:
    lines = (ROOT / "LICENSE").read_text().splitlines()
    text = tmp_path / "text"
    text.mkdir()
    for i, line in enumerate(lines):
        (text / f"{i}.txt").write_text(line)
    enough = replace(setting, vocabulary=300)
    corpus = study.open_corpus(tmp_path, enough, text)
    assert 10 < len(corpus.lengths) < len(lines)
    assert corpus.tokens.max() < 300
    again = study.open_corpus(tmp_path, enough, tmp_path / "nothing")
    assert (again.tokens == corpus.tokens).all()


def test_every_arm_is_run_with_every_seed(results: dict[str, Any]) -> None:
    assert list(results["arms"]) == [arm.name for arm in ARMS]
    for arm in results["arms"].values():
        assert len(arm["seeds"]) == SEEDS
        assert all(len(seed["training"]) == BINS for seed in arm["seeds"])
        losses = [seed["held_out"]["all"] for seed in arm["seeds"]]
        assert all(0 < loss < 4 for loss in losses)
        assert len(set(losses)) == SEEDS
    packed = {arm.name for arm in ARMS if arm.policy is not None}
    measured = {name for name, arm in results["arms"].items() if arm["noise"]}
    assert measured == packed | {BASELINE}


def test_every_arm_but_baselines_is_compared(results: dict[str, Any]) -> None:
    assert set(COMPARED_WITH) == {*TESTED, CONTROL, ADDED}
    assert set(COMPARED_WITH) | set(COMPARED_WITH.values()) == set(results["arms"])
    for arm, base in COMPARED_WITH.items():
        steps = [results["arms"][name]["steps"]["steps"] for name in (arm, base)]
        assert steps[0] == pytest.approx(steps[1], rel=0.15)


def test_a_study_goes_on_where_it_was(
    directory: Path, few_steps: Setting, results: dict[str, Any]
) -> None:
    """A run that is there stays; one that is not is done again, with the same end."""
    kept = directory / "run-original-1.json"
    written = kept.stat().st_mtime_ns
    (directory / "run-wlb_2-2.json").unlink()
    again = study.conduct(study.Study(directory, few_steps, directory), SEEDS, 16)
    assert kept.stat().st_mtime_ns == written
    for seed, before in enumerate(results["arms"]["wlb_2"]["seeds"]):
        again["arms"]["wlb_2"]["seeds"][seed]["seconds"] = before["seconds"]
    assert again == results


def test_runs_of_another_setting_are_refused(
    directory: Path, few_steps: Setting, results: dict[str, Any]
) -> None:
    assert results
    with pytest.raises(ValueError, match=r"directory: .* has runs of another setting"):
        study.Study(directory, replace(few_steps, tokens=4_000), directory)


def test_results_can_be_kept_and_shown(results: dict[str, Any], tmp_path: Path) -> None:
    study.write(tmp_path / "results.json", results)
    read = json.loads((tmp_path / "results.json").read_text())
    pieces = tables.all_pieces(read)
    for arm in COMPARED_WITH:
        assert sum(f"`{arm}`" in piece for piece in pieces) == 3


def test_one_seed_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["study.py", "a", "b", "--seeds", "1"])
    assert study.main() == 2
    assert "--seeds: 1 is not accepted" in capsys.readouterr().err
