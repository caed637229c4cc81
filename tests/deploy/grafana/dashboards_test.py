"""The dashboards' JSON: written by make_dashboards.py, and sound by structure.

No Grafana renders it here; its published types stand in for it. The environment's
EVENPACK_SOURCE_DIR names the repository.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

ROOT = Path(os.environ["EVENPACK_SOURCE_DIR"])
FOLDER = ROOT / "helm/evenpack/files/dashboards"
PROGRAM = ROOT / "deploy/grafana/make_dashboards.py"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
# What Grafana itself defines.
BUILT_IN = {"__range", "__rate_interval"}
UNITS = {value for value in vars(units).values() if isinstance(value, str)}
# With k, M and so on before it.
SCALED = re.compile(r"si:[a-z/]+")
KINDS = {"bargauge", "heatmap", "stat", "table", "timeseries"}

Json = dict[str, Any]


def dashboards() -> dict[str, Json]:
    """All of them by their files' names."""
    return {
        file.name: json.loads(file.read_text()) for file in sorted(FOLDER.iterdir())
    }


def panels_of(dashboard: Json) -> list[Json]:
    """Those that show something."""
    return [each for each in dashboard["panels"] if each["type"] != "row"]


def lost(given: object, kept: object, path: str = "") -> list[str]:
    """What `given` has and `kept` has not, or otherwise."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [
            each
            for key in given
            for each in lost(given[key], kept.get(key), f"{path}/{key}")
        ]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [
            each
            for index, pair in enumerate(zip(given, kept, strict=True))
            for each in lost(*pair, f"{path}/{index}")
        ]
    return [] if given == kept else [f"{path}: {given!r} became {kept!r}"]


def cells(panel: Json) -> set[tuple[int, int]]:
    """What it covers of the grid."""
    at = panel["gridPos"]
    return {
        (at["x"] + right, at["y"] + down)
        for right in range(at["w"])
        for down in range(at["h"])
    }


class DashboardsTest(unittest.TestCase):
    def test_they_are_what_the_program_writes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", PROGRAM, folder], check=True)
            made = {each.name: each.read_text() for each in Path(folder).iterdir()}
        kept = {each.name: each.read_text() for each in FOLDER.iterdir()}
        self.assertEqual(made, kept, "run python3 deploy/grafana/make_dashboards.py")

    def test_each_has_a_name_of_its_own_and_its_variables(self) -> None:
        read = dashboards()
        self.assertEqual(len(read), 5)
        self.assertEqual(len({each["title"] for each in read.values()}), 5)
        for name, dashboard in read.items():
            with self.subTest(dashboard=name):
                self.assertEqual(f"{dashboard['uid']}.json", name)
                # The longest that Grafana takes.
                self.assertLessEqual(len(dashboard["uid"]), 40)
                self.assertIn("evenpack", dashboard["tags"])
                variables = [each["name"] for each in dashboard["templating"]["list"]]
                self.assertEqual(variables[0], "datasource")
                text = json.dumps(dashboard)
                used = set(re.findall(r"\$\{?(\w+)", text)) - BUILT_IN
                self.assertEqual(used - {"__all"}, set(variables))

    def test_they_go_unchanged_through_the_types_that_grafana_publishes(self) -> None:
        """A field that these do not know is lost on the way."""
        register_default_plugins()
        for name, dashboard in dashboards().items():
            with self.subTest(dashboard=name):
                text = json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder)
                self.assertEqual(lost(dashboard, json.loads(text)), [])

    def test_panels_have_a_place_each(self) -> None:
        for name, dashboard in dashboards().items():
            with self.subTest(dashboard=name):
                panels = dashboard["panels"]
                ids = [panel["id"] for panel in panels]
                self.assertEqual(len(ids), len(set(ids)))
                covered: set[tuple[int, int]] = set()
                for panel in panels:
                    mine = cells(panel)
                    self.assertTrue(covered.isdisjoint(mine), panel["title"])
                    self.assertLess(max(x for x, _ in mine), WIDTH, panel["title"])
                    covered |= mine

    def test_panels_say_what_they_show(self) -> None:
        for name, dashboard in dashboards().items():
            titles = [panel["title"] for panel in panels_of(dashboard)]
            self.assertEqual(len(titles), len(set(titles)), name)
            for panel in panels_of(dashboard):
                with self.subTest(dashboard=name, panel=panel["title"]):
                    self.assertIn(panel["type"], KINDS)
                    self.assertRegex(panel["description"], r"^[A-Z0-9].*[.]$")
                    unit = panel["fieldConfig"]["defaults"]["unit"]
                    self.assertTrue(unit in UNITS or SCALED.fullmatch(unit), unit)

    def test_targets_ask_the_data_source_and_have_a_legend(self) -> None:
        for name, dashboard in dashboards().items():
            for panel in panels_of(dashboard):
                with self.subTest(dashboard=name, panel=panel["title"]):
                    self.assertEqual(panel["datasource"], DATASOURCE)
                    targets = panel["targets"]
                    refs = [target["refId"] for target in targets]
                    self.assertEqual(refs, [chr(65 + i) for i in range(len(targets))])
                    legends = [target["legendFormat"] for target in targets]
                    self.assertEqual(len(legends), len(set(legends)))
                    self.assertTrue(all(legends))
                    for target in targets:
                        self.assertEqual(target["datasource"], DATASOURCE)
                        self.assertTrue(target["expr"])
                        self.assertNotEqual(target["instant"], target["range"])

    def test_single_figures_are_over_the_range_that_is_shown(self) -> None:
        """The last minute has no step where they are decided after each mark."""
        over_range = 0
        for name, dashboard in dashboards().items():
            for panel in panels_of(dashboard):
                exprs = [each["expr"] for each in panel["targets"] if each["instant"]]
                with self.subTest(dashboard=name, panel=panel["title"]):
                    self.assertNotIn("$__rate_interval", " ".join(exprs))
                    if any("$__range" in expr for expr in exprs):
                        self.assertIn("time range", panel["description"])
                        over_range += 1
        self.assertGreater(over_range, 5)


class ProvisioningTest(unittest.TestCase):
    def test_it_names_the_folder_and_the_server_that_compose_has(self) -> None:
        folder = ROOT / "deploy/grafana/provisioning"
        provider = (folder / "dashboards/evenpack.yaml").read_text()
        self.assertIn("path: /var/lib/grafana/dashboards\n", provider)
        source = (folder / "datasources/prometheus.yaml").read_text()
        self.assertIn("url: http://prometheus:9090\n", source)
        interval = re.findall(r"timeInterval: (\w+)", source)
        config = (ROOT / "deploy/prometheus/prometheus.yml").read_text()
        self.assertEqual(interval, re.findall(r"scrape_interval: (\w+)", config))


if __name__ == "__main__":
    unittest.main()
