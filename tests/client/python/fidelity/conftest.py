"""What the tests of the fidelity study share: its modules, and a made-up corpus."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "tests/bench/fidelity"))

from arms import Shape
from token_corpus import TokenCorpus
from training import Setting


@pytest.fixture(scope="session")
def setting() -> Setting:
    """A small one."""
    return Setting(
        shape=Shape(context=64, micro_batches=2, crossover=24),
        tokens=5_600,
        width=16,
        heads=2,
        layers=1,
        vocabulary=40,
        peak_rate=1e-2,
        evaluations=3,
    )


@pytest.fixture(scope="session")
def corpus() -> TokenCorpus:
    """Documents of 2 to 64 tokens, each counting up from a number of its own."""
    random = np.random.default_rng(5)
    lengths = np.clip(random.lognormal(2.5, 1.0, 900), 2, 64).astype(np.int64)
    starts = random.integers(0, 40, len(lengths))
    tokens = [(s + np.arange(n)) % 40 for s, n in zip(starts, lengths, strict=True)]
    return TokenCorpus(
        tokens=np.concatenate(tokens).astype(np.uint16),
        offsets=np.append(0, np.cumsum(lengths)),
        kinds=np.zeros(len(lengths), dtype=np.uint8),
        held_out=np.arange(len(lengths)) % 20 == 0,
    )
