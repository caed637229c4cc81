"""Tests of how runs are made small."""

from __future__ import annotations

import pytest
from summary import binned_losses, corpus_figures
from token_corpus import TokenCorpus


def test_parts_of_equal_tokens_have_the_losses_of_their_steps() -> None:
    run = {"tokens": [100, 300, 400], "losses": [8.0, 4.0, 2.0]}
    assert binned_losses(run, 2) == [5.0, 2.0]
    assert binned_losses(run, 8) == [8.0, 4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 2.0]
    # A part that has a step's end within takes of both by their tokens.
    assert binned_losses(run, 1) == [3.5]
    assert binned_losses(run, 5)[0] == pytest.approx((100 * 8 + 60 * 4) / 160)


def test_figures_of_the_corpus_are_counts_and_shares(corpus: TokenCorpus) -> None:
    figures = corpus_figures(corpus, context=64)
    lengths = corpus.lengths
    assert figures["documents"] == 900
    assert figures["tokens"] == int(lengths.sum())
    assert figures["held_out_documents"] == 45
    at_context = int((lengths == 64).sum()) * 64 / int(lengths.sum())
    assert figures["share_at_context"] == pytest.approx(at_context, abs=1e-4)
    assert figures["long_share"] > figures["share_from_three_quarters"] > at_context
    kinds = figures["kinds"]
    assert [kinds[kind]["documents"] for kind in kinds] == [900, 0, 0]
