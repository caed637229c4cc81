"""What the arms of a study differ by, from its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from equivalence import Paired, holm, paired

# In per cent of the held-out loss: a third of the rise that WLB-LLM reports for
# fixed_greedy over 8 batches (1.6 %).
MARGIN = 0.5
LEVEL = 0.05
CONTROL = "fixed_greedy_8"
# Added when runs were seen: wlb's steps of unequal size, of documents in order.
ADDED = "unpacked_sizes_of_wlb"
TESTED = ("original", "fixed_greedy_1", "wlb_1", "wlb_2", "wlb_3")
# What each arm is compared with: documents that are not packed, in as many steps. A
# policy that leaves room in its micro-batches has more steps of fewer tokens, and a
# model that is young learns from the number of steps: that is no matter of order.
COMPARED_WITH = {
    "original": "unpacked_as_original",
    "fixed_greedy_1": "unpacked",
    "wlb_1": "unpacked_as_wlb",
    "wlb_2": "unpacked_as_wlb",
    "wlb_3": "unpacked_as_wlb",
    CONTROL: "unpacked",
    ADDED: "unpacked_as_wlb",
}

Results = Mapping[str, Any]


def held_out(results: Results, arm: str, part: str = "all") -> list[float]:
    """Final held-out loss of each seed, of a part that `HeldOut.parts` names."""
    return [seed["held_out"][part] for seed in results["arms"][arm]["seeds"]]


def training(results: Results, arm: str) -> list[float]:
    """Mean training loss of each seed: every token once, before it was learnt from."""
    return [seed["training_mean"] for seed in results["arms"][arm]["seeds"]]


def per_cent(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """By how many per cent values are above those of the baseline, pair by pair."""
    return [100 * (value / b - 1) for value, b in zip(values, base, strict=True)]


def difference(results: Results, arm: str, part: str = "all") -> Paired:
    """Of an arm's held-out loss to that of its baseline, per cent."""
    base = held_out(results, COMPARED_WITH[arm], part)
    return paired(per_cent(held_out(results, arm, part), base), MARGIN)


def training_difference(results: Results, arm: str) -> Paired:
    """The same of the mean training loss."""
    base = training(results, COMPARED_WITH[arm])
    return paired(per_cent(training(results, arm), base), MARGIN)


def adjusted(results: Results) -> dict[str, float]:
    """P-values of equivalence of the tested arms, by Holm."""
    p_values = [difference(results, arm).p_equivalent for arm in TESTED]
    return dict(zip(TESTED, holm(p_values), strict=True))


def has_power(results: Results) -> bool:
    """Whether the control's rise shows: above 0 at 5 %, one-sided."""
    return difference(results, CONTROL).p_above < LEVEL


def verdict(results: Results, arm: str) -> str:
    """In a few words, what the test stated beforehand says of an arm."""
    found = difference(results, arm)
    if arm == CONTROL:
        return "rise shows" if has_power(results) else "no rise shows"
    p_value = found.p_equivalent
    if arm in TESTED:
        p_value = adjusted(results)[arm]
    words = "equivalent" if p_value < LEVEL else "not shown to be equivalent"
    if found.low > 0:
        return f"{words}; higher"
    return f"{words}; lower" if found.high < 0 else words


def curve_difference(results: Results, arm: str) -> list[tuple[float, Paired]]:
    """Differences of held-out loss along the way, by the part of all tokens."""
    own, base = (
        [seed["curve"] for seed in results["arms"][name]["seeds"]]
        for name in (arm, COMPARED_WITH[arm])
    )
    found: list[tuple[float, Paired]] = []
    for points in zip(*own, strict=True):
        at = float(np.mean([point[0] for point in points]))
        k = len(found)
        values = [point[1] for point in points]
        pairs = per_cent(values, [curve[k][1] for curve in base])
        found.append((at, paired(pairs, MARGIN)))
    return found
