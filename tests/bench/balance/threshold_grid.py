"""The best queue thresholds of `wlb` for one input, by trying them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from length_families import WINDOW
from packed import Packed, Packer, Shape, side_by_side

# Twelve lengths; every two of them, each alone, and none.
STEPS = tuple(WINDOW // 16 * k for k in range(2, 14))
GRID: tuple[tuple[int, ...], ...] = (
    (),
    *combinations(STEPS, 1),
    *combinations(STEPS, 2),
)
# Of `balanced`, in this order.
PRICES = (0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.005, 0.002, 0.0)

Measure = Callable[[Packed], float]


@dataclass(frozen=True)
class Trial:
    """A run with what distinguishes it: thresholds, or a price of delay."""

    setting: tuple[float, ...]
    packed: Packed


def wlb_grid(packer: Packer, shape: Shape, *flags: str) -> list[Trial]:
    """`wlb` with all thresholds of the grid."""

    def trial(thresholds: tuple[int, ...]) -> Trial:
        given = ",".join(str(length) for length in thresholds)
        queues = ["--queue-thresholds", given] if thresholds else []
        return Trial(thresholds, packer.pack(shape, "wlb", *queues, *flags))

    return side_by_side(trial, GRID)


def balanced_prices(packer: Packer, shape: Shape, *flags: str) -> list[Trial]:
    """`balanced` with all prices of delay."""

    def trial(price: float) -> Trial:
        priced = ("--delay-price", str(price), *flags)
        return Trial((price,), packer.pack(shape, "balanced", *priced))

    return side_by_side(trial, PRICES)


def best(trials: Iterable[Trial], measure: Measure) -> Trial:
    """The least by `measure`; of equals the one that waits less."""
    return min(trials, key=lambda trial: (measure(trial.packed), trial.packed.delay))


def best_within(
    trials: Iterable[Trial], delay: float, measure: Measure
) -> Trial | None:
    """Of those whose mean delay is at most `delay`."""
    within = [trial for trial in trials if trial.packed.delay <= delay]
    return best(within, measure) if within else None


def frontier(trials: Iterable[Trial], measure: Measure) -> list[Trial]:
    """Those that no other beats in delay and measure both, by rising delay."""
    kept: list[Trial] = []
    for trial in sorted(trials, key=lambda t: (t.packed.delay, measure(t.packed))):
        if not kept or measure(trial.packed) < measure(kept[-1].packed):
            kept.append(trial)
    return kept
