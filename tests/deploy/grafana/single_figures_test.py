"""What single figures say of a job whose steps are decided in bursts, by promtool.

The environment's EVENPACK_SOURCE_DIR names the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from dashboard_file import Json, with_values

FOLDER = Path(os.environ["EVENPACK_SOURCE_DIR"]) / "helm/evenpack/files/dashboards"
CHOSEN = {"job": "run", "instance": ".*", "__rate_interval": "1m", "__range": "1h"}

# Minutes: of the job's move to another server, and of when the dashboard is looked at,
# which shows more than the job's time.
MOVED = 20
SEEN = 44
# Of the marks after which steps are decided.
MARKS = (1, 16, 31)
SUBSCRIBERS = 4
# Seconds in a minute: each trainer waits a tenth of its time.
WAITED = 0.1 * 60 * SUBSCRIBERS

PREDICTED = "evenpack_job_predicted_excess_seconds_total"
MEASURED = "evenpack_job_excess_seconds_total"
# What counters rise by at each mark.
BURST = {
    'evenpack_job_step_max_workload_seconds_total{packing="job"}': 60,
    'evenpack_job_step_mean_workload_seconds_total{packing="job"}': 50,
    'evenpack_job_step_max_workload_seconds_total{packing="original"}': 90,
    'evenpack_job_step_mean_workload_seconds_total{packing="original"}': 50,
    # A mean of 0.9, and a mean square of 1.01 times its square.
    "evenpack_job_step_fill_ratio_count{}": 100,
    "evenpack_job_step_fill_ratio_sum{}": 90,
    "evenpack_job_step_fill_ratio_squares_total{}": 81.81,
    "evenpack_job_tokens_emitted_total{}": 1000,
    "evenpack_job_long_document_tokens_emitted_total{}": 300,
    "evenpack_job_document_delay_batches_count{}": 1000,
    "evenpack_job_document_delay_batches_sum{}": 250,
    "evenpack_job_predicted_even_step_seconds_total{}": 100,
    f'{PREDICTED}{{cause="packing"}}': 5,
    f'{PREDICTED}{{cause="cp_sharding"}}': 6,
    f'{PREDICTED}{{cause="pipeline"}}': 7,
    f'{PREDICTED}{{cause="communication"}}': 8,
    "evenpack_job_even_seconds_total{}": 100,
    f'{MEASURED}{{cause="machine"}}': 9,
}
# By the legends.
EXPECTED = {
    "Imbalance": 1.2,
    "Times faster than unpacked order": 1.5,
    "CV of tokens per step": 0.1,
    "Long documents": 0.3,
    "Mean delay": 0.25,
    "Waiting for steps": 0.1,
    "packing: uneven micro-batches": 0.05,
    "context parallelism: uneven slices": 0.06,
    "pipeline: stages that idle": 0.07,
    "communication": 0.08,
    "hardware: slower than predicted": 0.09,
}


def one_series(series: str, server: str, values: Sequence[str]) -> Json:
    """One of the job, with a value for each minute."""
    name, labels = series.removesuffix("}").split("{")
    matched = ",".join(filter(None, ['job="run"', f'instance="{server}"', labels]))
    return {"series": f"{name}{{{matched}}}", "values": " ".join(values)}


def of_server(
    server: str, begin: int, end: int, marks: Sequence[int] = MARKS
) -> list[Json]:
    """What is scraped of a server that has the job from one minute to before another.

    It counts from 0.
    """
    minutes = range(begin, end)
    absent = ["_"] * begin
    gone = ["stale"]
    waited = [f"{WAITED * (minute - begin):.3f}" for minute in minutes]
    present = {
        "evenpack_job_step_wait_seconds_total{}": waited,
        "evenpack_job_subscribers{}": [f"{SUBSCRIBERS}"] * len(minutes),
    }
    for series, rise in BURST.items():
        bursts = [
            sum(begin <= mark <= minute for mark in marks) for minute in range(SEEN + 1)
        ]
        present[series] = [f"{rise * bursts[minute]:.3f}" for minute in minutes]
    return [
        one_series(series, server, [*absent, *values, *gone])
        for series, values in present.items()
    ]


def figures() -> dict[str, str]:
    """The expressions of panels that show one figure of some time, by their legends."""
    targets = [
        target
        for file in sorted(FOLDER.iterdir())
        for panel in json.loads(file.read_text())["panels"]
        for target in panel.get("targets", [])
        if target["instant"] and "[" in target["expr"]
    ]
    return {each["legendFormat"]: each["expr"] for each in targets}


def difference(expr: str, expected: float, series: list[Json]) -> str:
    """What promtool says where a figure is off by 2% or is not there, else nothing."""
    off = f"abs(({with_values(expr, CHOSEN)}) / {expected} - 1)"
    expectation = {
        "expr": f"{off} < bool 0.02",
        "eval_time": f"{SEEN}m",
        "exp_samples": [{"labels": "{}", "value": 1}],
    }
    case = {
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [expectation],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.yaml"
        file.write_text(json.dumps({"tests": [case]}))
        command = ["promtool", "test", "rules", f"{file}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr


class SingleFiguresTest(unittest.TestCase):
    def expect_figures(self, series: list[Json]) -> None:
        self.assertEqual(set(figures()), set(EXPECTED))
        for legend, expr in figures().items():
            with self.subTest(figure=legend):
                self.assertEqual(difference(expr, EXPECTED[legend], series), "")

    def test_they_are_there_thirteen_minutes_after_the_last_step(self) -> None:
        self.expect_figures(of_server("s", 0, SEEN + 1))

    def test_they_stay_what_they_are_where_the_job_moves(self) -> None:
        first = of_server("first", 0, MOVED)
        self.expect_figures([*first, *of_server("second", MOVED, SEEN + 1)])

    def test_they_are_there_where_the_first_scrape_had_all_steps(self) -> None:
        self.expect_figures(of_server("s", 0, SEEN + 1, marks=[0]))


if __name__ == "__main__":
    unittest.main()
