"""Tests of bench_report.py on a small recorded run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import bench_report
from bench_report import Growth, Row


def benchmark(name: str, time: float, **more: float | str) -> dict[str, Any]:
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "real_time": 2 * time,
        "cpu_time": time,
        "time_unit": "ns",
        **more,
    }


RECORDED = {
    "context": {"num_cpus": 2},
    "benchmarks": [
        benchmark("BM_Wlb/N:4", 3_100, items_per_second=34e6, documents=106.0),
        benchmark("BM_Wlb/N:16", 27_000, items_per_second=22e6, documents=592.0),
        benchmark("BM_Wlb/N:64", 235_160, items_per_second=9e6, documents=2137.0),
        benchmark("BM_DecideAndApplyStep/N:4/manual_time", 13_300),
        benchmark("PlanPerDocumentOf/cp:16/documents:1000", 41_000),
    ],
}
SERVICE = [
    {
        "bench": "ingest",
        "documents_a_message": 64,
        "subscribers": 2,
        "bare_ingest_documents_per_second": 6.3e6,
        "bare_documents_per_second": 2.5e6,
        "documents_per_second": 1.3e6,
        "ratio": 0.52,
    },
    {
        "bench": "fanout",
        "subscribers": 16,
        "bare_p99_ms": 0.6,
        "p99_ms": 0.9,
        "p99_ratio": 1.5,
    },
    {
        "bench": "store",
        "memory_documents_per_second": 863e3,
        "sqlite_documents_per_second": 591e3,
        "ratio": 0.68,
    },
    {"bench": "cold", "subscribers": 256, "seconds": 0.57, "server_mib": 39},
    {"bench": "load", "documents_per_second": 400, "server_processor_share": 0.0075},
]


def rows_of(*entries: dict[str, Any]) -> list[Row]:
    return bench_report.rows_of_google_benchmark({"benchmarks": list(entries)})


class BenchReportTest(unittest.TestCase):
    def test_slope_of_powers_is_their_exponent(self) -> None:
        for exponent in (0.5, 1.0, 2.0):
            points = [(float(x), 7 * x**exponent) for x in (4, 16, 64, 256)]
            self.assertAlmostEqual(bench_report.log_log_slope(points), exponent)

    def test_slope_is_of_the_line_with_least_squares(self) -> None:
        # Logarithms to base e: (0, 0), (1, 0), (2, 3); the slope is 3/2.
        e = 2.718281828459045
        points = [(1.0, 1.0), (e, 1.0), (e**2, e**3)]
        self.assertAlmostEqual(bench_report.log_log_slope(points), 1.5)

    def test_name_is_split_into_family_arguments_and_clock(self) -> None:
        for name, expected in {
            "BM_Wlb/N:4": ("Wlb", {"N": 4}, False),
            "PlanOf/cp:16/documents:10": ("PlanOf", {"cp": 16, "documents": 10}, False),
            "BM_Step/N:64/manual_time": ("Step", {"N": 64}, True),
            "BM_Commit/jobs:1/real_time": ("Commit", {"jobs": 1}, True),
            "Alone": ("Alone", {}, False),
            "BM_Ingest/wlb/N:4": ("Ingest wlb", {"N": 4}, False),
        }.items():
            self.assertEqual(bench_report.family_and_shape(name), expected)

    def test_names_of_all_benchmarks_that_run_sh_reports_can_be_split(self) -> None:
        folder = Path(os.environ["EVENPACK_BENCH_FOLDER"])
        for program in ("packing", "placement", "engine", "sharding", "commit"):
            names = subprocess.run(
                [folder / f"{program}_bench", "--benchmark_list_tests=true"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.splitlines()
            self.assertTrue(names, program)
            for name in names:
                family, _, _ = bench_report.family_and_shape(name)
                self.assertTrue(family, name)

    def test_time_is_the_processors_unless_a_clock_was_asked_for(self) -> None:
        wlb, step = rows_of(
            benchmark("BM_Wlb/N:4", 3_000), benchmark("BM_Step/N:4/manual_time", 3_000)
        )
        self.assertEqual((wlb.microseconds, step.microseconds), (3.0, 6.0))

    def test_time_units_are_converted(self) -> None:
        row = rows_of(benchmark("BM_Wlb/N:4", 3, time_unit="ms"))[0]
        self.assertEqual(row.microseconds, 3_000)

    def test_median_stands_for_repetitions(self) -> None:
        name = {"run_name": "BM_Wlb/N:4"}
        rows = rows_of(
            benchmark("BM_Wlb/N:4", 9_000, repetition_index=0),
            benchmark("BM_Wlb/N:4", 1_000, repetition_index=1),
            {**benchmark("BM_Wlb/N:4_mean", 4e3, aggregate_name="mean"), **name},
            {**benchmark("BM_Wlb/N:4_median", 2e3, aggregate_name="median"), **name},
            {**benchmark("BM_Wlb/N:4_stddev", 1e3, aggregate_name="stddev"), **name},
        )
        self.assertEqual([row.microseconds for row in rows], [2.0])

    def test_benchmark_that_failed_is_an_error(self) -> None:
        failed = benchmark("BM_Wlb/N:4", 0, error_occurred=True, error_message="why")
        with self.assertRaisesRegex(ValueError, "BM_Wlb/N:4: why"):
            rows_of(failed)

    def test_growth_along_each_argument_with_the_others_fixed(self) -> None:
        rows = rows_of(
            *(benchmark(f"Plan/cp:16/documents:{d}", 5 * d) for d in (10, 100, 1000)),
            *(benchmark(f"Plan/cp:{cp}/documents:10", 50) for cp in (4, 8)),
        )
        growths = bench_report.growths_of(rows)
        self.assertEqual(
            [(g.along, g.fixed, round(g.slope, 6)) for g in growths],
            [("cp", {"documents": 10}, 0.0), ("documents", {"cp": 16}, 1.0)],
        )

    def test_two_points_have_no_growth(self) -> None:
        rows = rows_of(*(benchmark(f"BM_Wlb/N:{n}", n) for n in (4, 16)))
        self.assertEqual(bench_report.growths_of(rows), [])

    def test_targets(self) -> None:
        for row, met in (
            (Row("DecideAndApplyStep", {"N": 4}, microseconds=50), True),
            (Row("DecideAndApplyStep", {"N": 4}, microseconds=51), False),
            (Row("DecideAndApplyStep", {"N": 16}, microseconds=51), None),
            (Row("Wlb", {"N": 4096}, documents_per_second=9.4e6), False),
            (Row("Wlb", {"N": 4}, documents_per_second=10e6), True),
            (Row("Wlb", {"N": 4}), False),
            (Row("service ingest", {"documents_a_message": 64}, ratio=0.8), True),
            (Row("service fanout", {"subscribers": 1}, ratio=2.01), False),
            (Row("store sqlite", {}, ratio=0.1), None),
        ):
            self.assertIs(row.met(), met, row)

    def test_unknown_line_names_what_is_accepted(self) -> None:
        with self.assertRaisesRegex(ValueError, "bench: new; accepted: ingest, fanout"):
            bench_report.row_of_service({"bench": "new"})

    def test_file_without_results_is_an_error_that_names_it(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "empty.json"
            for text in ("", '{"benchmarks": []}', "no JSON"):
                path.write_text(text, encoding="utf-8")
                with self.assertRaisesRegex(SystemExit, r"empty\.json"):
                    bench_report.main([str(path)])

    def test_table_and_json_of_a_recorded_run(self) -> None:
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as directory:
            core, service, merged = (
                Path(directory) / name for name in ("core", "service", "merged")
            )
            core.write_text(json.dumps(RECORDED), encoding="utf-8")
            lines = "\n".join(json.dumps(line) for line in SERVICE)
            service.write_text(lines, encoding="utf-8")
            with contextlib.redirect_stdout(printed):
                bench_report.main(["--json", str(merged), str(core), str(service)])
            result = json.loads(merged.read_text(encoding="utf-8"))
        lines_printed = [" ".join(x.split()) for x in printed.getvalue().splitlines()]
        self.assertEqual(
            lines_printed,
            [
                "benchmark case documents us M/s ratio target note",
                "Wlb N=4 106 3.10 34.0 >= 10 M/s ok",
                "Wlb N=16 592 27.0 22.0 >= 10 M/s ok",
                "Wlb N=64 2,137 235 9.00 >= 10 M/s MISSED",
                "DecideAndApplyStep N=4 26.6 <= 50 us ok",
                "PlanPerDocumentOf cp=16 documents=1000 1,000 41.0 <= 40 us MISSED",
                "service ingest documents_a_message=64 subscribers=2 1.30 0.520 >= 0.8 "
                "MISSED bare 2.50 M/s",
                "service fanout subscribers=16 900 1.50 <= 2 ok p99; bare 600 us",
                "store sqlite 0.591 0.680 in memory 0.86 M/s",
                "process cold subscribers=256 570,000 39 MiB",
                "process load 0.000400 0.75% of a core",
                "",
                "growth of along from to slope at",
                "Wlb N 4 64 1.56",
            ],
        )
        self.assertEqual(len(result["rows"]), 10)
        self.assertEqual(result["rows"][0]["met"], True)
        self.assertEqual(result["rows"][0]["target"], ">= 10 M/s")
        growth = Growth(**result["growth"][0])
        self.assertEqual((growth.family, growth.first, growth.last), ("Wlb", 4, 64))


if __name__ == "__main__":
    unittest.main()
