"""Draws a dashboard of what a Prometheus answers to its panels' queries.

    draw_dashboard.py DASHBOARD PROMETHEUS IMAGE [TITLE...]
        --end T --seconds N --rate-interval D [--set VARIABLE=VALUE]

DASHBOARD is its JSON, PROMETHEUS a HOST:PORT, IMAGE the PNG to write, of the N seconds
before T, which is in seconds since the epoch; TITLE are those of the panels to draw,
all where none is given. Titles, places, units, legends and thresholds are the JSON's;
Grafana has no part in it. Drawn are panels of the kinds timeseries, stat and heatmap.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard_file import (
    GRID_WIDTH,
    Json,
    bucket_rates,
    grid_height,
    in_unit,
    legend_of,
    shown_panels,
    threshold_colour,
    with_values,
)
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Affine2D

# Pixels of the layout; the image has SCALE times as many.
WIDTH = 1120
SCALE = 1.3
ROW = 27
MARGIN = 12
GAP = 8
HEADER = 44
FOOTER = 26
# Of a panel: above, right of, below and left of what is plotted.
TOP, RIGHT, BOTTOM, LEFT = 32, 14, 46, 62

# Letters of a line of a stat's title.
STAT_TITLE = 24

GROUND = "#f4f5f7"
PANEL = "#ffffff"
BORDER = "#dcdfe4"
INK = "#24292f"
FAINT = "#6b7280"
LINES = ("#2a6f97", "#d9822b", "#5b8c5a", "#8e5572", "#7a8691")
NAMED = {"green": "#2f7d4f", "yellow": "#b7791f", "red": "#c0392b"}
FONT = {"font.family": "sans-serif", "font.size": 8.3}
NOTE = (
    "Queries, layout, units and legends: the dashboard's JSON. Data: Prometheus. "
    "Not drawn by Grafana."
)


@dataclass(frozen=True)
class Series:
    """What Prometheus answered for one series: seconds since the epoch, values."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Source:
    """A Prometheus, the time that is looked at, and the variables' values."""

    address: str
    start: float
    end: float
    values: dict[str, str]

    def _get(self, path: str, **parameters: str) -> list[Json]:
        asked = urllib.parse.urlencode(parameters)
        url = f"http://{self.address}/api/v1/{path}?{asked}"
        with urllib.request.urlopen(url, timeout=30) as response:
            found: list[Json] = json.load(response)["data"]["result"]
        return found

    def ask(self, target: Json) -> list[Series]:
        """The answer to a panel's query, over the time or at its end as it says."""
        query = with_values(target["expr"], self.values)
        if target["instant"]:
            found = self._get("query", query=query, time=f"{self.end}")
            return [Series(each["metric"], _points([each["value"]])) for each in found]
        found = self._get(
            "query_range",
            query=query,
            start=f"{self.start}",
            end=f"{self.end}",
            step="1",
        )
        return [Series(each["metric"], _points(each["values"])) for each in found]


def _points(raw: list[list[Any]]) -> list[tuple[float, float]]:
    return [(float(at), float(value)) for at, value in raw]


class Drawing:
    """A figure in pixels from its top left corner."""

    def __init__(self, height: float) -> None:
        """Ground without anything on it."""
        self.height = height
        size = (WIDTH / 100, height / 100)
        self.figure = Figure(figsize=size, dpi=100 * SCALE, facecolor=GROUND)

    def box(self, x: float, y: float, width: float, height: float) -> None:
        """A panel's ground."""
        patch = FancyBboxPatch(
            (x, self.height - y - height),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=3",
            facecolor=PANEL,
            edgecolor=BORDER,
            linewidth=0.6,
            zorder=-1,
            transform=Affine2D().scale(SCALE),
        )
        self.figure.add_artist(patch)

    def text(self, x: float, y: float, text: str, **style: object) -> None:
        """Text at its left, on the middle of its line."""
        style = {"va": "center", "color": INK, **style}
        self.figure.text(x / WIDTH, 1 - y / self.height, text, **style)

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Where something is plotted."""
        bottom = 1 - (y + height) / self.height
        place = (x / WIDTH, bottom, width / WIDTH, height / self.height)
        axes = self.figure.add_axes(place, facecolor="none")
        axes.tick_params(length=0, labelsize=7.6, labelcolor=FAINT, pad=4)
        # Below the lowest label of the other axis.
        axes.tick_params(axis="x", pad=7)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return axes

    def save(self, path: Path) -> None:
        """Writes the PNG."""
        FigureCanvasAgg(self.figure).print_png(
            path, metadata={"Software": None}, pil_kwargs={"optimize": True}
        )


def _label_time(axes: Axes, source: Source) -> None:
    axes.set_xlim(0, source.end - source.start)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 1.5, 2, 3, 6, 10]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda at, _: f"{int(at) // 60}:{int(at) % 60:02}")
    )


def _finite(points: list[tuple[float, float]], start: float) -> list[list[float]]:
    kept = [(at - start, value) for at, value in points if math.isfinite(value)]
    return [[at for at, _ in kept], [value for _, value in kept]]


def draw_lines(axes: Axes, panel: Json, source: Source) -> None:
    """The panel's series as lines."""
    defaults = panel["fieldConfig"]["defaults"]
    stacked = defaults["custom"]["stacking"]["mode"] == "normal"
    named: list[tuple[str, list[list[float]]]] = []
    for target in panel["targets"]:
        for series in source.ask(target):
            name = legend_of(target["legendFormat"], series.labels)
            named.append((name, _finite(series.points, source.start)))
    if stacked:
        _stack(axes, named)
    else:
        for index, (name, (times, values)) in enumerate(named):
            colour = LINES[index % len(LINES)]
            axes.plot(times, values, color=colour, linewidth=1.3, label=name)
    _scale_values(axes, defaults, [v for _, (_, values) in named for v in values])
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(-LEFT / axes.bbox.width * SCALE, -0.15),
        ncols=4,
        frameon=False,
        fontsize=7.6,
        labelcolor=INK,
        handlelength=1.2,
        columnspacing=1.2,
        handletextpad=0.5,
        borderaxespad=0.3,
    )


def _stack(axes: Axes, named: list[tuple[str, list[list[float]]]]) -> None:
    below: dict[float, float] = {}
    for index, (name, (times, values)) in enumerate(named):
        low = [below.get(at, 0.0) for at in times]
        high = [base + value for base, value in zip(low, values, strict=True)]
        colour = LINES[index % len(LINES)]
        axes.fill_between(times, low, high, color=colour, alpha=0.4, linewidth=0)
        axes.plot(times, high, color=colour, linewidth=1.3, label=name)
        below.update(zip(times, high, strict=True))


def _scale_values(axes: Axes, defaults: Json, values: list[float]) -> None:
    least = defaults.get("min", min(values, default=0.0))
    most = max(values, default=least + 1)
    # Lines along the edge stay whole.
    span = most - least or 1
    axes.set_ylim(least - 0.02 * span, most + 0.08 * span)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    unit = defaults["unit"]
    axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: in_unit(at, unit)))
    axes.grid(color="#e8eaee", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_heatmap(axes: Axes, panel: Json, source: Source) -> None:
    """A row for each bucket, the darker the more fell into it."""
    moments: dict[float, dict[str, float]] = {}
    for target in panel["targets"]:
        for series in source.ask(target):
            for at, value in series.points:
                moments.setdefault(at, {})[series.labels["le"]] = value
    alone = {at: bucket_rates(moments[at]) for at in sorted(moments)}
    filled = {le for rates in alone.values() for le, rate in rates.items() if rate > 0}
    bounds = sorted({le for rates in alone.values() for le in rates}, key=float)
    shown = bounds[: max((bounds.index(le) for le in filled), default=0) + 1]
    cells = [
        [rates.get(le, 0.0) or math.nan for rates in alone.values()] for le in shown
    ]
    edges = [at - source.start - 0.5 for at in alone]
    axes.pcolormesh(
        [*edges, edges[-1] + 1],
        range(len(shown) + 1),
        cells,
        cmap="Blues",
        norm="log",
        rasterized=True,
    )
    axes.set_yticks([each + 0.5 for each in range(len(shown))], shown)
    axes.annotate(
        "up to so many, by row; darker: more a second (log)",
        (0, 0),
        (0.72 * (12 - LEFT), -0.72 * 37),
        xycoords="axes pixels",
        textcoords="offset points",
        fontsize=7.6,
        color=FAINT,
    )


def draw_stat(
    drawing: Drawing, panel: Json, source: Source, x: float, y: float
) -> None:
    """The panel's last value, in the colour of its thresholds."""
    answers = [each for target in panel["targets"] for each in source.ask(target)]
    value = answers[0].points[-1][1] if answers else math.nan
    defaults = panel["fieldConfig"]["defaults"]
    text = in_unit(value, defaults["unit"], defaults.get("decimals"))
    colour = NAMED[threshold_colour(panel, value)] if answers else FAINT
    title = "\n".join(textwrap.wrap(panel["title"], STAT_TITLE))
    drawing.text(x + 12, y + 9, title, va="top")
    drawing.text(x + 12, y + 69, text, fontsize=21, color=colour, weight="bold")


def draw_panel(drawing: Drawing, panel: Json, source: Source) -> None:
    """One panel or heading at its place of the grid."""
    at = panel["gridPos"]
    column = (WIDTH - 2 * MARGIN + GAP) / GRID_WIDTH
    x, y = MARGIN + at["x"] * column, HEADER + at["y"] * ROW
    width, height = at["w"] * column - GAP, at["h"] * ROW - GAP
    if panel["type"] == "row":
        drawing.text(x + 2, y + ROW / 2 - 2, panel["title"], weight="bold", fontsize=9)
        return
    drawing.box(x, y, width, height)
    if panel["type"] == "stat":
        draw_stat(drawing, panel, source, x, y)
        return
    drawing.text(x + 12, y + 16, panel["title"])
    inner = (width - LEFT - RIGHT, height - TOP - BOTTOM)
    axes = drawing.axes(x + LEFT, y + TOP, *inner)
    {"timeseries": draw_lines, "heatmap": draw_heatmap}[panel["type"]](
        axes, panel, source
    )
    _label_time(axes, source)


def draw(dashboard: Json, titles: list[str], source: Source, path: Path) -> None:
    """The whole picture."""
    panels = shown_panels(dashboard, titles)
    drawing = Drawing(HEADER + grid_height(panels) * ROW + FOOTER)
    drawing.text(MARGIN + 2, 24, dashboard["title"], fontsize=12.5, weight="bold")
    chosen = [
        f"{each['label']}: {source.values[each['name']]}"
        for each in dashboard["templating"]["list"]
        if each["name"] in source.values
    ]
    seconds = f"last {source.end - source.start:.0f} s"
    rates = f"rates over {source.values['__rate_interval']}"
    said = "     ".join([*chosen, seconds, rates])
    drawing.text(WIDTH - MARGIN - 2, 24, said, ha="right", color=FAINT, fontsize=8.3)
    for panel in panels:
        draw_panel(drawing, panel, source)
    drawing.text(MARGIN + 2, drawing.height - 14, NOTE, color=FAINT, fontsize=7.6)
    drawing.save(path)


def main() -> int:
    """Reads the command line and draws."""
    parser = argparse.ArgumentParser(description="Draws a dashboard.")
    parser.add_argument("dashboard", type=Path)
    parser.add_argument("prometheus")
    parser.add_argument("image", type=Path)
    parser.add_argument("titles", nargs="*")
    parser.add_argument("--end", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rate-interval", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="VARIABLE=VALUE")
    asked = parser.parse_args()
    values = dict(each.split("=", 1) for each in asked.set)
    values["__rate_interval"] = asked.rate_interval
    values["__range"] = f"{asked.seconds:.0f}s"
    start = asked.end - asked.seconds
    source = Source(asked.prometheus, start, asked.end, values)
    dashboard = json.loads(asked.dashboard.read_text())
    with rc_context(FONT):
        draw(dashboard, asked.titles, source, asked.image)
    return 0


if __name__ == "__main__":
    sys.exit(main())
