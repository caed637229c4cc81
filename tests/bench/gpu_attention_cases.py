"""The cases of gpu_attention_bench's SLICES, as its peers measure them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD_SIZE = 128


@dataclass(frozen=True)
class Case:
    """Slices, each from one token of its document to before another."""

    report: dict[str, Any]
    slices: list[tuple[int, int]]

    @property
    def heads(self) -> list[int]:
        """Query heads, KV heads."""
        return [int(each) for each in self.report["heads"].split(":")]

    @property
    def queries(self) -> list[int]:
        """Of each slice."""
        return [end - begin for begin, end in self.slices]

    @property
    def keys(self) -> list[int]:
        """That each slice sees."""
        return [end for _, end in self.slices]

    def show(self, kernel: str, passes: str, ms: float) -> None:
        """Prints what a kernel took."""
        pairs = sum((end - begin) * (begin + end + 1) / 2 for begin, end in self.slices)
        flops = 4 * pairs * HEAD_SIZE * self.heads[0]
        flops *= 1 if passes == "forward" else 2.5
        measured = {"kernel": kernel, "pass": passes, "ms": ms}
        tflops = flops / ms / 1e9
        print(json.dumps({**self.report, **measured, "tflops": tflops}), flush=True)


def cases_in(path: str) -> list[Case]:
    """Of a file that gpu_attention_bench wrote."""
    reports = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [Case(report, report.pop("slices")) for report in reports]


def timed(call: Callable[[], Any], finish: Callable[[Any], object]) -> float:
    """Milliseconds, the mean over as many calls as fit into a short time.

    `finish` returns when the device has done what gives a result, and all before.
    """
    for _ in range(3):
        result = call()
    finish(result)
    begun = time.perf_counter()
    finish(call())
    calls = max(4, min(40, int(0.05 / (time.perf_counter() - begun))))
    begun = time.perf_counter()
    for _ in range(calls):
        result = call()
    finish(result)
    return (time.perf_counter() - begun) / calls * 1e3
