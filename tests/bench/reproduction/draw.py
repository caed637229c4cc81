"""Draws the simulated tables of the paper beside what it published.

    draw.py RESULTS IMAGES

RESULTS holds the JSON of `evenpackctl simulate --config TABLE` as TABLE.json; IMAGES
gets a PNG of each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

WIDTH = 0.2
OURS = "#2a6f97"
PUBLISHED = "#c9ada7"


def read(results: Path, table: str) -> dict[str, Any]:
    """The report of one table."""
    parsed: dict[str, Any] = json.loads((results / f"{table}.json").read_text())
    return parsed


def save(figure: Figure, axes: Axes, names: list[str], path: Path) -> None:
    """Labels the bars and writes the figure."""
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.legend()
    figure.tight_layout()
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})


def draw_paper(report: dict[str, Any], path: Path) -> None:
    """The eight configurations: both methods, simulated and published; the bound."""
    rows = report["configs"]
    figure = Figure(figsize=(10, 4.5), dpi=120)
    axes = figure.subplots()
    bars = (
        ("fixed_speedup", "Fixed-4D, simulated", "#8ab6d6"),
        ("published_fixed", "Fixed-4D, published", "#e6d5d0"),
        ("wlb_speedup", "WLB-LLM, simulated", OURS),
        ("published_wlb", "WLB-LLM, published", PUBLISHED),
    )
    for i, (key, label, colour) in enumerate(bars):
        places = [at + (i - 1.5) * WIDTH for at in range(len(rows))]
        axes.bar(places, [row[key] for row in rows], WIDTH, label=label, color=colour)
    for at, row in enumerate(rows):
        axes.hlines(row["bound_speedup"], at - 0.4, at + 0.4, color="#d62828")
    axes.hlines([], 0, 0, color="#d62828", label="perfect balance")
    axes.set_ylabel("speedup over Plain-4D")
    axes.set_ylim(bottom=0.9)
    save(figure, axes, [row["name"] for row in rows], path)


def draw_rows(
    report: dict[str, Any], key: str, published: str, label: str, path: Path
) -> None:
    """Rows of one value each, beside what was published."""
    rows = report["configs"]
    figure = Figure(figsize=(8, 4), dpi=120)
    axes = figure.subplots()
    for i, (field, name, colour) in enumerate(
        ((key, "simulated", OURS), (published, "published", PUBLISHED))
    ):
        places = [at + (i - 0.5) * 2 * WIDTH for at in range(len(rows))]
        axes.bar(
            places, [row[field] for row in rows], 2 * WIDTH, label=name, color=colour
        )
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0.9)
    save(figure, axes, [row["name"] for row in rows], path)


def main() -> int:
    """Draws all of them."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    results, images = Path(sys.argv[1]), Path(sys.argv[2])
    images.mkdir(parents=True, exist_ok=True)
    draw_paper(read(results, "paper"), images / "paper.png")
    over_plain = "speedup over Plain-4D"
    for table, key, published, label in (
        ("window-sweep", "wlb_speedup", "published_wlb", over_plain),
        ("breakdown", "speedup", "published", over_plain),
        ("cp-figure", "speedup", "published", "speedup over per_sequence"),
        ("packing-table", "imbalance", "published", "imbalance degree"),
    ):
        draw_rows(read(results, table), key, published, label, images / f"{table}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
