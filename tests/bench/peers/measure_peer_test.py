"""Tests of what packers get and how they are measured, with small ones of our own."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import types
import unittest
from collections.abc import Sequence
from pathlib import Path

import measure_peer
from measure_peer import measure
from packer import MicroBatch, Packer, Shape, global_batches

SHAPE = Shape(micro_batches=2, window=10, max_length=15)


def round_robin(lengths: Sequence[int], shape: Shape) -> list[MicroBatch]:
    count = shape.micro_batches
    return [list(range(i, len(lengths), count)) for i in range(count)]


def alone(lengths: Sequence[int], _: Shape) -> list[MicroBatch]:
    return [[document] for document in range(len(lengths))]


class Ticks:
    """A clock that goes on a second each time it is read."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 1
        return self._now


class MeasurePeerTest(unittest.TestCase):
    def test_global_batch_ends_with_the_document_that_reaches_its_tokens(self) -> None:
        for lengths, expected in (
            ([], []),
            ([19], []),
            ([20], [[20]]),
            ([12, 12, 3, 9, 8, 5], [[12, 12], [3, 9, 8]]),
        ):
            self.assertEqual(list(global_batches(lengths, SHAPE)), expected)

    def test_packer_gets_a_batch_a_call(self) -> None:
        seen: list[list[int]] = []

        def pack(lengths: Sequence[int], shape: Shape) -> list[MicroBatch]:
            seen.append(list(lengths))
            return round_robin(lengths, shape)

        measure(Packer("p", "", pack), [[5, 7, 8], [9, 11]], SHAPE)
        # The first one twice: once before the clock runs.
        self.assertEqual(seen, [[5, 7, 8], [5, 7, 8], [9, 11]])

    def test_packer_of_the_whole_stream_makes_steps_of_its_micro_batches(self) -> None:
        packer = Packer("p", "order", alone, "note", whole_stream=True)
        row = measure(packer, [[5, 7, 8], [10, 10]], SHAPE, Ticks())
        self.assertEqual((row["steps"], row["micro_batches"]), (2, 5))
        # A second for two steps.
        self.assertEqual(row["ms"], 500)
        self.assertEqual(row["fill"], 0.8)
        self.assertEqual((row["name"], row["note"]), ("p", "note"))

    def test_only_packing_is_timed(self) -> None:
        clock = Ticks()

        def prepare(lengths: Sequence[int]) -> list[int]:
            clock()
            return list(lengths)

        def read(packed: list[MicroBatch]) -> list[MicroBatch]:
            clock()
            return packed

        packer = Packer("p", "", round_robin, prepare=prepare, read=read)
        self.assertEqual(measure(packer, [[20]], SHAPE, clock)["ms"], 1000)

    def test_slow_packer_gets_no_further_batch(self) -> None:
        clock = Ticks()

        def pack(lengths: Sequence[int], shape: Shape) -> list[MicroBatch]:
            for _ in range(29):
                clock()
            return round_robin(lengths, shape)

        # 30 seconds a batch.
        row = measure(Packer("p", "", pack), [[10, 10]] * 5, SHAPE, clock)
        self.assertEqual((row["steps"], row["ms"]), (2, 30_000))

    def test_adapter_is_measured_on_the_first_batches(self) -> None:
        adapter = types.ModuleType("round_robin_packer")
        adapter.packers = lambda: [Packer("ours", "nothing", round_robin)]  # type: ignore[attr-defined]
        sys.modules[adapter.__name__] = adapter
        self.addCleanup(sys.modules.pop, adapter.__name__)
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "lengths"
            file.write_text("10\n10\n4\n16\n10\n10\n", encoding="utf-8")
            with contextlib.redirect_stdout(printed):
                arguments = [adapter.__name__, str(file), "2", "10", "15", "2"]
                measure_peer.main(arguments)
        rows = json.loads(printed.getvalue())
        self.assertEqual([row["name"] for row in rows], ["ours"])
        self.assertEqual((rows[0]["steps"], rows[0]["dropped"]), (2, 0))
        # One token of the document of 16 is over the cap, of 40.
        self.assertEqual(rows[0]["over"], 1 / 40)


if __name__ == "__main__":
    unittest.main()
