"""Orders of many documents that take no memory.

A number x below n is taken apart into row x // b and column x mod b of a grid of a rows
and b columns, about as many, with room for n. A Feistel network permutes the grid: in
turn, row and column get a hash of the other added, modulo a and b. What leaves 0..n-1
goes through again until it is back; the grid has fewer than sqrt(n) + 1 such places, so
that is rare. This is the generalised Feistel cipher of Black and Rogaway (Ciphers with
Arbitrary Finite Domains, 2002), with a hash that is fast and keeps no secret.

The hash is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable
Pseudorandom Number Generators, 2014) of the part and a key of the round. All of it is
integers modulo 2^64: the order is the same on every machine, and never changes with a
version.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import Numbers
from evenpack.invalid_argument import checked_integer, checked_uint32

# Of rows, and as many of columns.
_ROUNDS = 4
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB

Words = NDArray[np.uint64]


def _mix(word: int) -> int:
    word = (word ^ (word >> 30)) * _FIRST & _WORD
    word = (word ^ (word >> 27)) * _SECOND & _WORD
    return word ^ (word >> 31)


def _mix_all(words: Words) -> Words:
    """The same of many."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_SECOND)
    return words ^ (words >> np.uint64(31))


def checked_seed(seed: object) -> int:
    """A seed as Python's own number; InvalidArgumentError: none of 0 to 2^64 - 1."""
    return checked_integer("seed", seed, 0, _WORD)


class Permutation:
    """An order of 0 to n - 1, by a seed. Constant; threads may share one."""

    def __init__(self, n: int, seed: int, epoch: int = 0) -> None:
        """Takes no time and no memory.

        Args:
            n: 0 to 2^62.
            seed: 0 to 2^64 - 1.
            epoch: other orders of the same seed, 0 to 2^32 - 1.

        Raises:
            InvalidArgumentError: one is outside.
        """
        self._n = n = checked_integer("n", n, 0, 1 << 62)
        seed = checked_seed(seed)
        epoch = checked_uint32("epoch", epoch)
        rows = isqrt(max(n - 1, 0)) + 1
        self._sides = (np.uint64(rows), np.uint64(-(-max(n, 1) // rows)))
        start = _mix((_mix(seed) + epoch * _GOLDEN) & _WORD)
        self._keys = [
            np.uint64(_mix((start + (i + 1) * _GOLDEN) & _WORD))
            for i in range(2 * _ROUNDS)
        ]

    def __len__(self) -> int:
        """N."""
        return self._n

    def apply(self, positions: Numbers) -> Numbers:
        """What stands at these positions.

        Args:
            positions: int64 [k], each 0 to n - 1.
        """
        return self._walk(positions, self._keys, +1)

    def position_of(self, numbers: Numbers) -> Numbers:
        """Where these numbers stand: the inverse of `apply`."""
        return self._walk(numbers, self._keys[::-1], -1)

    def _walk(self, numbers: Numbers, keys: list[np.uint64], way: int) -> Numbers:
        found = self._permute(numbers.astype(np.uint64), keys, way)
        outside = found >= np.uint64(self._n)
        while outside.any():
            found[outside] = self._permute(found[outside], keys, way)
            outside = found >= np.uint64(self._n)
        return found.astype(np.int64)

    def _permute(self, words: Words, keys: list[np.uint64], way: int) -> Words:
        """One pass through the network over the grid."""
        rows, columns = self._sides
        row, column = words // columns, words % columns
        first_is_row = way > 0
        for i, key in enumerate(keys):
            if (i % 2 == 0) == first_is_row:
                row = _shifted(row, _mix_all(column + key) % rows, rows, way)
            else:
                column = _shifted(column, _mix_all(row + key) % columns, columns, way)
        return row * columns + column


def _shifted(part: Words, by: Words, side: np.uint64, way: int) -> Words:
    return (part + by) % side if way > 0 else (part + (side - by)) % side
