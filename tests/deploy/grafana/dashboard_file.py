"""A dashboard's JSON as one who shows it reads it: queries, places, legends, units.

Without what only some machines have: draw_dashboard.py draws what this reads.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

Json = dict[str, Any]

GRID_WIDTH = 24
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_THOUSANDS = ("", "K", "M", "B", "T")
_SI = ("", "k", "M", "G", "T")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_RATES = {"cps": "c/s", "ops": "ops/s"}


def with_values(expr: str, values: Mapping[str, str]) -> str:
    """The expression as it is sent: $name and ${name} replaced by their values."""
    return _VARIABLE.sub(lambda found: values[found[1] or found[2]], expr)


def legend_of(form: str, labels: Mapping[str, str]) -> str:
    """What a series is called: each {{label}} replaced by its value."""
    return _LABEL.sub(lambda found: labels.get(found[1], ""), form)


def _below_rows(panels: Sequence[Json]) -> list[tuple[Json | None, list[Json]]]:
    """The panels by the heading that they stand below."""
    groups: list[tuple[Json | None, list[Json]]] = [(None, [])]
    for panel in panels:
        if panel["type"] == "row":
            groups.append((panel, []))
        else:
            groups[-1][1].append(panel)
    return groups


def _moved_up(panels: Sequence[Json]) -> list[Json]:
    """Each as high as those above it let it, as Grafana's grid closes gaps."""
    filled = [0] * GRID_WIDTH
    moved = copy.deepcopy(list(panels))
    for panel in moved:
        at = panel["gridPos"]
        columns = range(at["x"], at["x"] + at["w"])
        at["y"] = max(filled[column] for column in columns)
        for column in columns:
            filled[column] = at["y"] + at["h"]
    return moved


def shown_panels(dashboard: Json, titles: Collection[str] = ()) -> list[Json]:
    """Those of these titles, all where none are given, with their rows' headings.

    ValueError: a title is not the dashboard's.
    """
    known = {each["title"] for each in dashboard["panels"] if each["type"] != "row"}
    if missing := set(titles) - known:
        raise ValueError(f"no panel has the title {sorted(missing)}")
    kept: list[Json] = []
    for heading, below in _below_rows(dashboard["panels"]):
        chosen = [each for each in below if not titles or each["title"] in titles]
        if chosen and heading is not None:
            kept.append(heading)
        kept += chosen
    return _moved_up(kept)


def grid_height(panels: Sequence[Json]) -> int:
    """In rows of the grid."""
    ends = [each["gridPos"]["y"] + each["gridPos"]["h"] for each in panels]
    return int(max(ends))


def threshold_colour(panel: Json, value: float) -> str:
    """The name of the colour that the panel's thresholds give a value."""
    steps: Sequence[Json] = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    reached = [
        each["color"]
        for each in steps
        if each["value"] is None or value >= each["value"]
    ]
    colour: str = reached[-1]
    return colour


def bucket_rates(cumulative: Mapping[str, float]) -> dict[str, float]:
    """Of each bucket alone, in their order; given are those up to each bound `le`."""
    rates: dict[str, float] = {}
    below = 0.0
    for bound in sorted(cumulative, key=float):
        rates[bound] = max(cumulative[bound] - below, 0.0)
        below = cumulative[bound]
    return rates


def _digits(value: float, decimals: int | None) -> str:
    if decimals is not None:
        return f"{value:.{decimals}f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _scaled(
    value: float, base: int, names: Sequence[str], decimals: int | None
) -> tuple[str, str]:
    """Digits and the prefix of the largest power of the base that is not above it."""
    power = 0
    while abs(value) >= base and power + 1 < len(names):
        value /= base
        power += 1
    return _digits(value, decimals), names[power]


def _in_seconds(value: float, decimals: int | None) -> str:
    fits = [(size, name) for size, name in _SECONDS if abs(value) >= size]
    size, name = _SECONDS[0] if value == 0 else (fits or _SECONDS[-1:])[0]
    return f"{_digits(value / size, decimals)} {name}"


def in_unit(value: float, unit: str, decimals: int | None = None) -> str:
    """A value as a panel of this unit writes it; without decimals, three digits.

    ValueError: a unit that no dashboard here has.
    """
    if not math.isfinite(value):
        return "No data"
    if unit == "none":
        return _digits(value, decimals)
    if unit == "percentunit":
        return f"{_digits(100 * value, decimals)}%"
    if unit == "s":
        return _in_seconds(value, decimals)
    if unit == "short":
        digits, prefix = _scaled(value, 1000, _THOUSANDS, decimals)
        return f"{digits} {prefix}".rstrip()
    if unit == "bytes":
        return " ".join(_scaled(value, 1024, _BINARY, decimals))
    if unit == "Bps" or unit.startswith("si:"):
        digits, prefix = _scaled(value, 1000, _SI, decimals)
        return f"{digits} {prefix}{'B/s' if unit == 'Bps' else unit[len('si:') :]}"
    if unit in _RATES:
        digits, prefix = _scaled(value, 1000, _THOUSANDS, decimals)
        return f"{digits}{prefix} {_RATES[unit]}"
    raise ValueError(f"unit {unit} is not known")
