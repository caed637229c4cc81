"""Streams of document lengths that the policy `balanced` is measured on.

All but the given ones come from SplitMix64 (Steele, Lea and Flood, 2014), whose draws
are the same everywhere; logarithms and powers of them are rounded to whole tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

WINDOW = 131_072
# Of a generated stream: as many as the given lengths hold.
TOKENS = 390_000_000
GIVEN = Path("deploy/data/lengths/wlbllm.txt")
_MASK = (1 << 64) - 1


class SplitMix64:
    """The generator; `seed` is any number."""

    def __init__(self, seed: int) -> None:
        """Starts the sequence of `seed`."""
        self._state = seed & _MASK

    def next(self) -> int:
        """64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """A number above 0 and at most 1, of 53 bits."""
        return ((self.next() >> 11) + 1) * 2.0**-53

    def between(self, least: int, most: int) -> int:
        """A whole number of a range, both ends included; nearly uniform."""
        return least + self.next() % (most - least + 1)


Draw = Callable[[SplitMix64], int]


def lognormal(median: float, sigma: float) -> Draw:
    """Lengths exp(N(log median, sigma)) by Box and Muller, redrawn above the window."""

    def draw(random: SplitMix64) -> int:
        while True:
            radius = math.sqrt(-2 * math.log(random.uniform()))
            normal = radius * math.cos(2 * math.pi * random.uniform())
            length = round(median * math.exp(sigma * normal))
            if 1 <= length <= WINDOW:
                return length

    return draw


def pareto(least: float, tail: float) -> Draw:
    """Lengths with P(length > x) = (least / x) ** tail, redrawn above the window."""

    def draw(random: SplitMix64) -> int:
        while True:
            length = round(least * math.pow(random.uniform(), -1 / tail))
            if length <= WINDOW:
                return length

    return draw


_SHORT = lognormal(1_500, 1.0)


def bimodal(random: SplitMix64) -> int:
    """49 of 50 have 1K to 4K tokens, the others 60K to 120K."""
    if random.between(1, 50) == 1:
        return random.between(60_000, 120_000)
    return random.between(1_000, 4_000)


def _mixed(random: SplitMix64) -> int:
    if random.between(1, 5) == 1:
        return random.between(1, WINDOW)
    return _SHORT(random)


def _two_lengths(random: SplitMix64) -> int:
    return 100_000 if random.between(1, 10) == 1 else 4_096


# As corpora are that were cut where a model's context ended, whose sizes were these.
CONTEXT_SIZES = (2_048, 4_096, 8_192, 32_768, WINDOW)


def cut_at_sizes(random: SplitMix64) -> int:
    """One in ten is as long as a context, the others exponential, 3,000 on average."""
    if random.between(1, 10) == 1:
        return CONTEXT_SIZES[random.between(1, len(CONTEXT_SIZES)) - 1]
    return min(WINDOW, 1 + int(-3_000 * math.log(random.uniform())))


def _even(least: int, most: int) -> Draw:
    return lambda random: random.between(least, most)


def _until(tokens: int, draw: Draw, random: SplitMix64) -> Iterator[int]:
    held = 0
    while held < tokens:
        length = draw(random)
        held += length
        yield length


def _drawn(*parts: Draw) -> Callable[[], list[int]]:
    # One after the other, each with as many tokens.
    def lengths() -> list[int]:
        random = SplitMix64(1)
        share = TOKENS // len(parts)
        return [length for part in parts for length in _until(share, part, random)]

    return lengths


def _given() -> list[int]:
    return [int(line) for line in GIVEN.read_text().split()]


def _bursts() -> list[int]:
    # 24 million tokens of short documents, then 2 million of long ones, and so on.
    random = SplitMix64(1)
    calm, burst = lognormal(2_000, 0.8), _even(90_000, 130_000)
    lengths: list[int] = []
    for _ in range(TOKENS // 26_000_000):
        lengths += _until(24_000_000, calm, random)
        lengths += _until(2_000_000, burst, random)
    return lengths


_WEB, _CODE, _BOOKS = lognormal(1_500, 1.1), pareto(500, 1.0), lognormal(40_000, 0.6)


@dataclass(frozen=True)
class Family:
    """One kind of stream."""

    name: str
    # Short, for a table.
    description: str
    lengths: Callable[[], list[int]]


FAMILIES = (
    Family("given", "the given lengths", _given),
    Family(
        "lognormal", "lognormal, median 3K, sigma 1.3", _drawn(lognormal(3_000, 1.3))
    ),
    Family("pareto", "Pareto from 1K, exponent 1.1", _drawn(pareto(1_000, 1.1))),
    Family("bimodal", "49 in 50 of 1K to 4K, else 60K to 120K", _drawn(bimodal)),
    Family("constant", "all 8,192", _drawn(_even(8_192, 8_192))),
    Family("sorted", "the given lengths, ascending", lambda: sorted(_given())),
    Family("by source", "web, then code, then books", _drawn(_WEB, _CODE, _BOOKS)),
    Family(
        "switch",
        "lognormal; from the middle on bimodal",
        _drawn(lognormal(3_000, 1.3), bimodal),
    ),
    Family("50K to 70K", "uniform", _drawn(_even(50_000, 70_000))),
    Family("uniform", "uniform from 1 to 128K", _drawn(_even(1, WINDOW))),
    Family("mixed", "a fifth uniform, else lognormal", _drawn(_mixed)),
    Family("two lengths", "nine in ten of 4,096, else 100K", _drawn(_two_lengths)),
    Family(
        "cut at sizes",
        "a tenth 2K, 4K, 8K, 32K or 128K, else exponential, mean 3K",
        _drawn(cut_at_sizes),
    ),
    Family("bursts", "24M tokens around 2K, 2M of 90K to 130K, in turn", _bursts),
)


def write(family: Family, folder: Path) -> Path:
    """The family's lengths as a file, a line each."""
    path = folder / f"{family.name.replace(' ', '-')}.txt"
    path.write_text("".join(f"{length}\n" for length in family.lengths()))
    return path
