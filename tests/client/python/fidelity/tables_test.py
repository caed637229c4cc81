"""Tests that the page shows what the results are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from comparison import COMPARED_WITH, held_out
from tables import all_pieces, main_table, table

ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "tests/bench/fidelity/results.json"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(RESULTS.read_text())
    return parsed


def test_the_page_has_the_tables_of_the_results(results: dict[str, Any]) -> None:
    page = " ".join((ROOT / "docs/fidelity.md").read_text().split())
    for piece in all_pieces(results):
        assert " ".join(piece.split()) in page


def test_other_results_give_other_tables(results: dict[str, Any]) -> None:
    before = main_table(results)
    results = json.loads(json.dumps(results))
    results["arms"]["wlb_3"]["seeds"][0]["held_out"]["all"] *= 1.01
    assert main_table(results) != before


def test_the_results_are_of_five_seeds_or_more(results: dict[str, Any]) -> None:
    for arm in COMPARED_WITH:
        assert len(held_out(results, arm)) >= 5
    assert RESULTS.stat().st_size < 200_000


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --: |\n| 1 | 2 |"
