"""What a picture needs of a dashboard: queries as sent, places, legends, units.

The environment's EVENPACK_SOURCE_DIR names the repository.
"""

from __future__ import annotations

import json
import math
import os
import unittest
from pathlib import Path

from dashboard_file import (
    Json,
    bucket_rates,
    grid_height,
    in_unit,
    legend_of,
    shown_panels,
    threshold_colour,
    with_values,
)

FOLDER = Path(os.environ["EVENPACK_SOURCE_DIR"]) / "helm/evenpack/files/dashboards"


def panel(title: str, x: int, y: int, width: int = 8, height: int = 8) -> Json:
    return {
        "type": "row" if height == 1 else "timeseries",
        "title": title,
        "gridPos": {"x": x, "y": y, "w": width, "h": height},
    }


DASHBOARD = {
    "panels": [
        panel("First", 0, 0, 24, 1),
        panel("a", 0, 1),
        panel("b", 8, 1),
        panel("c", 0, 9),
        panel("Second", 0, 17, 24, 1),
        panel("d", 0, 18),
    ]
}


def places(panels: list[Json]) -> dict[str, tuple[int, int]]:
    return {
        each["title"]: (each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels
    }


class QueriesTest(unittest.TestCase):
    def test_variables_have_their_values_in_both_forms(self) -> None:
        values = {"job": "run", "__rate_interval": "15s"}
        expr = 'sum by (le) (rate(m{job="$job"}[$__rate_interval])) / n{job="${job}"}'
        sent = 'sum by (le) (rate(m{job="run"}[15s])) / n{job="run"}'
        self.assertEqual(with_values(expr, values), sent)

    def test_a_variable_without_a_value_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            with_values('m{instance="$instance"}', {"job": "run"})

    def test_legends_name_the_labels_values(self) -> None:
        for form, called in (
            ("queue {{queue}}", "queue 1"),
            ("{{ queue }}/{{other}}", "1/"),
            ("after: job's policy", "after: job's policy"),
        ):
            self.assertEqual(legend_of(form, {"queue": "1"}), called)


class PlacesTest(unittest.TestCase):
    def test_all_panels_of_the_dashboards_keep_their_places(self) -> None:
        for file in sorted(FOLDER.iterdir()):
            dashboard = json.loads(file.read_text())
            shown = shown_panels(dashboard)
            self.assertEqual(shown, dashboard["panels"], file.name)

    def test_chosen_panels_move_up_below_their_headings(self) -> None:
        shown = shown_panels(DASHBOARD, ["b", "c", "d"])
        expected = {
            "First": (0, 0),
            "b": (8, 1),
            "c": (0, 1),
            "Second": (0, 9),
            "d": (0, 10),
        }
        self.assertEqual(places(shown), expected)
        self.assertEqual(grid_height(shown), 18)

    def test_a_heading_without_panels_is_left_out(self) -> None:
        self.assertEqual(
            places(shown_panels(DASHBOARD, ["d"])), {"Second": (0, 0), "d": (0, 1)}
        )

    def test_the_dashboard_itself_stays_as_it_is(self) -> None:
        before = json.dumps(DASHBOARD)
        shown_panels(DASHBOARD, ["d"])
        self.assertEqual(json.dumps(DASHBOARD), before)

    def test_a_title_that_no_panel_has_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "'Second'"):
            shown_panels(DASHBOARD, ["a", "Second"])


class ValuesTest(unittest.TestCase):
    def test_values_are_written_in_their_unit(self) -> None:
        for value, unit, decimals, text in (
            (1.0312, "none", 3, "1.031"),
            (1.0312, "none", None, "1.03"),
            (0.0734, "percentunit", 1, "7.3%"),
            (0.2, "percentunit", None, "20%"),
            (0, "s", None, "0 s"),
            (0.0312, "s", None, "31.2 ms"),
            (2.5, "s", None, "2.5 s"),
            (4e-12, "s", None, "0.004 ns"),
            (6, "short", None, "6"),
            (524288, "short", None, "524 K"),
            (1.2e6, "si:tok/s", None, "1.2 Mtok/s"),
            (999, "si:tok/s", None, "999 tok/s"),
            (264, "cps", None, "264 c/s"),
            (3072, "bytes", None, "3 KiB"),
            (2500, "Bps", None, "2.5 kB/s"),
            (math.nan, "none", None, "No data"),
        ):
            with self.subTest(value=value, unit=unit):
                self.assertEqual(in_unit(value, unit, decimals), text)

    def test_every_unit_of_the_dashboards_is_known(self) -> None:
        for file in sorted(FOLDER.iterdir()):
            for each in json.loads(file.read_text())["panels"]:
                if each["type"] != "row":
                    in_unit(1.0, each["fieldConfig"]["defaults"]["unit"])

    def test_a_unit_that_is_not_known_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "furlongs"):
            in_unit(1.0, "furlongs")

    def test_thresholds_begin_where_they_say(self) -> None:
        steps: list[Json] = [
            {"color": "green", "value": None},
            {"color": "yellow", "value": 1.05},
            {"color": "red", "value": 1.1},
        ]
        shown = {"fieldConfig": {"defaults": {"thresholds": {"steps": steps}}}}
        for value, colour in ((1.04, "green"), (1.05, "yellow"), (1.2, "red")):
            self.assertEqual(threshold_colour(shown, value), colour)

    def test_buckets_are_told_apart_in_the_order_of_their_bounds(self) -> None:
        cumulative = {"+Inf": 7.0, "10": 6.0, "0": 1.0, "2": 1.0}
        expected = {"0": 1.0, "2": 0.0, "10": 5.0, "+Inf": 1.0}
        rates = bucket_rates(cumulative)
        self.assertEqual(list(rates.items()), list(expected.items()))


if __name__ == "__main__":
    unittest.main()
