"""Renderings, character by character, of the chart with stand-in rules and dashboards.

After a change that is meant:
  build-test-venv/bin/python -B tests/helm/golden_test.py --renew
"""

from __future__ import annotations

import difflib
import sys
import tempfile
import unittest
from pathlib import Path

import stand_in_chart
from chart import render_text, values_flags

GOLDEN = Path(__file__).parent / "golden"
# Files in golden/, and the values that they are rendered with.
RENDERINGS: dict[str, str | None] = {
    "default": None,
    "memory": "memory",
    "monitoring": "monitoring",
    "secure": "secure",
    "workers": "workers",
}


def renderings() -> dict[Path, str]:
    """What each golden file should hold."""
    with tempfile.TemporaryDirectory() as folder:
        chart = stand_in_chart.make(Path(folder))
        return {
            GOLDEN / f"{name}.yaml": render_text(values_flags(values), chart)
            for name, values in RENDERINGS.items()
        }


class GoldenTest(unittest.TestCase):
    maxDiff = None

    def test_renderings_are_those_checked_in(self) -> None:
        for path, text in renderings().items():
            differences = difflib.unified_diff(
                path.read_text(encoding="utf-8").splitlines(),
                text.splitlines(),
                f"{path.name}, checked in",
                f"{path.name}, rendered",
                lineterm="",
            )
            self.assertEqual("\n".join(differences), "", __doc__)

    def test_nothing_else_is_checked_in(self) -> None:
        self.assertEqual(
            {path.stem for path in GOLDEN.iterdir()}, set(RENDERINGS), GOLDEN
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--renew"]:
        for path, text in renderings().items():
            path.write_text(text, encoding="utf-8")
    else:
        unittest.main()
