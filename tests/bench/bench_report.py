"""Merges what the benchmarks printed: one table, the growth of each family, one JSON.

    bench_report.py [--json FILE] RESULTS...

RESULTS are files of Google Benchmark (--benchmark_format=json), or of the benchmarks
of the service, which print a JSON object a line. A family's growth along an argument is
the slope of a straight line through log(time) over log(argument): 1 is proportional.
A time is of the thread's processor where a benchmark measures that, else of the clock.
M/s are million documents a second; for Expand..., slices.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from columns import aligned, number

MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

# Fewer points make no line.
LEAST_POINTS = 3

# What Google Benchmark appends to a name to say what it timed.
CLOCK_SUFFIXES = ("manual_time", "real_time")


@dataclass(frozen=True)
class Target:
    """A bound of docs/performance.md on one figure of a row."""

    figure: str
    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        """Whether `value` keeps the bound."""
        if self.at_least is not None and value < self.at_least:
            return False
        return self.at_most is None or value <= self.at_most

    def __str__(self) -> str:
        """The bound as the table shows it."""
        sign, bound = "<=", self.at_most
        if self.at_least is not None:
            sign, bound = ">=", self.at_least
        unit = {"microseconds": " us", "documents_per_second": " M/s"}
        scale = 1e6 if self.figure == "documents_per_second" else 1
        return f"{sign} {(bound or 0) / scale:g}{unit.get(self.figure, '')}"


BULK = Target("documents_per_second", at_least=10e6)

# By family and shape; a shape of None stands for every other one.
TARGETS: dict[tuple[str, str | None], Target] = {
    ("DecideAndApplyStep", "N=4"): Target("microseconds", at_most=50),
    ("DecideAndApplyStep", "N=64"): Target("microseconds", at_most=1000),
    ("Wlb", None): BULK,
    ("WlbByDocuments", None): BULK,
    ("PlanPerDocumentOf", "cp=16 documents=1000"): Target("microseconds", at_most=40),
    ("service ingest", None): Target("ratio", at_least=0.8),
    ("service fanout", None): Target("ratio", at_most=2),
}


@dataclass(frozen=True)
class Row:
    """One measured case. A figure that its benchmark doesn't give is None."""

    family: str
    shape: dict[str, int]
    documents: int | None = None
    microseconds: float | None = None
    documents_per_second: float | None = None
    ratio: float | None = None
    note: str = ""

    def shape_text(self) -> str:
        """The arguments, such as `cp=16 documents=1000`."""
        return " ".join(f"{name}={value}" for name, value in self.shape.items())

    def target(self) -> Target | None:
        """What docs/performance.md asks of this row."""
        exact = TARGETS.get((self.family, self.shape_text()))
        return exact or TARGETS.get((self.family, None))

    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        target = self.target()
        if target is None:
            return None
        value = getattr(self, target.figure)
        return value is not None and target.met(value)


@dataclass(frozen=True)
class Growth:
    """How a family's time grows along one argument, the others fixed."""

    family: str
    along: str
    fixed: dict[str, int]
    first: int
    last: int
    slope: float


def log_log_slope(points: list[tuple[float, float]]) -> float:
    """Least-squares slope of log(y) over log(x); all positive, two x at least."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def family_and_shape(name: str) -> tuple[str, dict[str, int], bool]:
    """Splits `BM_Family/N:4/manual_time`; the last is True where a clock was read.

    Of a family with variants, as `BM_Family/variant/N:4`, each is one.
    """
    families = []
    shape = {}
    clock = False
    for part in name.removeprefix("BM_").split("/"):
        argument, is_argument, value = part.rpartition(":")
        if is_argument:
            shape[argument] = int(value)
        elif part in CLOCK_SUFFIXES:
            clock = True
        else:
            families.append(part)
    return " ".join(families), shape, clock


def row_of_benchmark(entry: dict[str, Any]) -> Row:
    """A row from an entry of Google Benchmark's list."""
    family, shape, clock = family_and_shape(entry["run_name"])
    time = entry["real_time" if clock else "cpu_time"]
    documents = entry.get("documents", shape.get("documents"))
    commits = entry.get("messages/commit")
    return Row(
        family,
        shape,
        documents=None if documents is None else round(documents),
        microseconds=time * MICROSECONDS[entry["time_unit"]],
        documents_per_second=entry.get("items_per_second", entry.get("documents/s")),
        note="" if commits is None else f"{commits:.1f} messages a commit",
    )


def rows_of_google_benchmark(results: dict[str, Any]) -> list[Row]:
    """A row for each case: its median where it was repeated."""
    entries: dict[str, dict[str, Any]] = {}
    for entry in results["benchmarks"]:
        if entry.get("error_occurred"):
            raise ValueError(f"{entry['name']}: {entry.get('error_message', 'failed')}")
        if entry.get("aggregate_name", "median") == "median":
            entries[entry["run_name"]] = entry
    return [row_of_benchmark(entry) for entry in entries.values()]


def ingest_row(line: dict[str, Any]) -> Row:
    """Of `service_bench ingest`."""
    return Row(
        "service ingest",
        {name: line[name] for name in ("documents_a_message", "subscribers")},
        documents_per_second=line["documents_per_second"],
        ratio=line["ratio"],
        note=f"bare {line['bare_documents_per_second'] / 1e6:.2f} M/s",
    )


def fanout_row(line: dict[str, Any]) -> Row:
    """Of `service_bench fanout`."""
    return Row(
        "service fanout",
        {"subscribers": line["subscribers"]},
        microseconds=line["p99_ms"] * 1e3,
        ratio=line["p99_ratio"],
        note=f"p99; bare {line['bare_p99_ms'] * 1e3:.0f} us",
    )


def store_row(line: dict[str, Any]) -> Row:
    """Of `service_bench store`."""
    return Row(
        "store sqlite",
        {},
        documents_per_second=line["sqlite_documents_per_second"],
        ratio=line["ratio"],
        note=f"in memory {line['memory_documents_per_second'] / 1e6:.2f} M/s",
    )


def cold_row(line: dict[str, Any]) -> Row:
    """Of `process_bench cold`."""
    return Row(
        "process cold",
        {"subscribers": line["subscribers"]},
        microseconds=line["seconds"] * 1e6,
        note=f"{line['server_mib']:.0f} MiB",
    )


def load_row(line: dict[str, Any]) -> Row:
    """Of `process_bench load`."""
    return Row(
        "process load",
        {},
        documents_per_second=line["documents_per_second"],
        note=f"{line['server_processor_share']:.2%} of a core",
    )


SERVICE_ROWS: dict[str, Callable[[dict[str, Any]], Row]] = {
    "ingest": ingest_row,
    "fanout": fanout_row,
    "store": store_row,
    "cold": cold_row,
    "load": load_row,
}


def row_of_service(line: dict[str, Any]) -> Row:
    """A row from a line of service_bench or process_bench."""
    make = SERVICE_ROWS.get(line["bench"])
    if make is None:
        accepted = ", ".join(SERVICE_ROWS)
        raise ValueError(f"bench: {line['bench']}; accepted: {accepted}")
    return make(line)


def rows_of_file(path: Path) -> list[Row]:
    """The rows of one file of results, whichever its form."""
    text = path.read_text(encoding="utf-8")
    try:
        return rows_of_text(text)
    except (ValueError, KeyError) as error:
        raise SystemExit(f"bench_report.py: {path}: {error}") from error


def rows_of_text(text: str) -> list[Row]:
    """The rows of a file's text. ValueError or KeyError where it is neither form."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        whole = None
    if isinstance(whole, dict) and "benchmarks" in whole:
        rows = rows_of_google_benchmark(whole)
    else:
        rows = [row_of_service(json.loads(line)) for line in text.splitlines() if line]
    if not rows:
        raise ValueError("no results")
    return rows


def growths_of(rows: list[Row]) -> list[Growth]:
    """The growth of each family along each argument that takes several values."""
    groups: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[Row]] = {}
    for row in rows:
        for along in row.shape:
            fixed = tuple((k, v) for k, v in row.shape.items() if k != along)
            groups.setdefault((row.family, along, fixed), []).append(row)
    growths = []
    for (family, along, fixed), members in groups.items():
        points = sorted(
            (row.shape[along], row.microseconds) for row in members if row.microseconds
        )
        if len({x for x, _ in points}) >= LEAST_POINTS:
            slope = log_log_slope([(float(x), y) for x, y in points])
            first, last = points[0][0], points[-1][0]
            growths.append(Growth(family, along, dict(fixed), first, last, slope))
    return growths


def table(rows: list[Row]) -> list[str]:
    """A line for each row, in columns."""
    cells = [["benchmark", "case", "documents", "us", "M/s", "ratio", "target", "note"]]
    for row in rows:
        target = row.target()
        verdict = "ok" if row.met() else "MISSED"
        cells.append(
            [
                row.family,
                row.shape_text(),
                "" if row.documents is None else f"{row.documents:,}",
                number(row.microseconds),
                number(row.documents_per_second, 1e-6),
                number(row.ratio),
                "" if target is None else f"{target} {verdict}",
                row.note,
            ]
        )
    return aligned(cells, left={0, 1, 6, 7})


def growth_table(growths: list[Growth]) -> list[str]:
    """A line for each family and argument, in columns."""
    cells = [["growth of", "along", "from", "to", "slope", "at"]]
    for growth in growths:
        fixed = " ".join(f"{name}={value}" for name, value in growth.fixed.items())
        cells.append(
            [
                growth.family,
                growth.along,
                f"{growth.first:,}",
                f"{growth.last:,}",
                f"{growth.slope:.2f}",
                fixed,
            ]
        )
    return aligned(cells, left={0, 1, 5})


def as_json(rows: list[Row], growths: list[Growth]) -> dict[str, Any]:
    """What --json writes."""
    return {
        "rows": [
            {**asdict(row), "target": str(row.target() or ""), "met": row.met()}
            for row in rows
        ],
        "growth": [asdict(growth) for growth in growths],
    }


def main(arguments: list[str]) -> int:
    """Prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("results", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    rows = [row for path in options.results for row in rows_of_file(path)]
    growths = growths_of(rows)
    print("\n".join([*table(rows), "", *growth_table(growths)]))
    if options.json is not None:
        text = json.dumps(as_json(rows, growths), indent=1) + "\n"
        options.json.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
