"""Measures the packers of one adapter, in a process of its own.

    measure_peer.py ADAPTER LENGTHS MICRO_BATCHES WINDOW MAX_LENGTH BATCHES

ADAPTER is a module of this folder with `packers() -> list[Packer]`. Prints a JSON list,
an object a packer; whatever a peer prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packer import MicroBatch, Packer, Shape, global_batches, read_lengths
from score import score

# Of packing, a packer; one call at least.
SECONDS = 60

Clock = Callable[[], float]


def measure(
    packer: Packer,
    batches: Sequence[Sequence[int]],
    shape: Shape,
    clock: Clock = time.perf_counter,
) -> dict[str, Any]:
    """Packs the batches and scores the result; `ms` is the median of a step.

    A packer that has used up SECONDS gets no further batch.
    """
    # Once beforehand, so that nothing is compiled or loaded while the clock runs.
    packer.read(packer.pack(packer.prepare(batches[0]), shape))
    whole = [length for batch in batches for length in batch]
    inputs = [whole] if packer.whole_stream else batches
    calls: list[tuple[Sequence[int], list[MicroBatch]]] = []
    milliseconds = []
    spent = 0.0
    for lengths in inputs:
        documents = packer.prepare(lengths)
        begun = clock()
        result = packer.pack(documents, shape)
        seconds = clock() - begun
        packed = packer.read(result)
        steps = max(1, len(packed) // shape.micro_batches)
        milliseconds.append(seconds * 1e3 / steps)
        spent += seconds
        calls.append((lengths, packed))
        if spent >= SECONDS:
            break
    return {
        "name": packer.name,
        "optimises": packer.optimises,
        "note": packer.note,
        "ms": statistics.median(milliseconds),
        **asdict(score(calls, shape)),
    }


def main(arguments: list[str]) -> int:
    """Prints what was measured of the adapter's packers."""
    adapter, lengths, micro_batches, window, max_length, count = arguments
    shape = Shape(int(micro_batches), int(window), int(max_length))
    batches = list(
        itertools.islice(global_batches(read_lengths(Path(lengths)), shape), int(count))
    )
    with contextlib.redirect_stdout(sys.stderr):
        module = importlib.import_module(adapter)
        results = [measure(packer, batches, shape) for packer in module.packers()]
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
