"""Writes the tables of a page, and its pictures, from the figures.

    render_page.py RESULTS PAGE IMAGES

A table stands in PAGE between the lines `<!-- table NAME -->` and `<!-- end -->`.
IMAGES gets balance-N.svg for each N.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frontier_plot import Curve, draw
from page_tables import LEAST_PRICE, TABLES

_TABLE = re.compile(r"(<!-- table (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
Json = dict[str, Any]


def render(
    page: str, results: Json, tables: Mapping[str, Callable[[Json], str]]
) -> str:
    """The page with every table anew. KeyError: one that nobody makes."""

    def anew(found: re.Match[str]) -> str:
        return f"{found[1]}{tables[found[2]](results)}\n{found[4]}"

    return _TABLE.sub(anew, page)


def frontier_picture(of: Json) -> str:
    """Excess against delay at one N."""
    curves = [
        Curve(
            name,
            sorted(
                (trial["delay"], trial["excess_all"])
                for trial in trials
                if not name.startswith("balanced") or trial["setting"][0] >= LEAST_PRICE
            ),
        )
        for name, trials in of["curves"].items()
    ]
    return draw(f"excess imbalance, N = {of['micro_batches']}", curves)


def main() -> int:
    """Rewrites the page in place."""
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    results: Json = json.loads(Path(sys.argv[1]).read_text())
    page, images = Path(sys.argv[2]), Path(sys.argv[3])
    page.write_text(render(page.read_text(), results, TABLES))
    for of in results["frontiers"]:
        path = images / f"balance-{of['micro_batches']}.svg"
        path.write_text(frontier_picture(of))
    return 0


if __name__ == "__main__":
    sys.exit(main())
