"""Panels and dashboards as plain values, and the JSON that Grafana loads.

A panel is a title, a description, a unit and what is asked of Prometheus; the rest of
Grafana's JSON repeats itself and is written here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# Of the classic dashboard model, that of Grafana 11.6; newer ones bring it up to date.
SCHEMA_VERSION = 41
# Columns of Grafana's grid.
GRID_WIDTH = 24
DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True)
class Query:
    """A PromQL expression, and how its series are called."""

    expr: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel; `unit` is one of Grafana's, such as `s`, `bytes`, `percentunit`."""

    title: str
    description: str
    unit: str
    queries: Sequence[Query]
    # timeseries, stat, bargauge, heatmap or table.
    kind: str = "timeseries"
    # Of GRID_WIDTH, and in rows of 30 pixels.
    width: int = 8
    height: int = 8
    # Areas on top of each other: what is shown adds up.
    stacked: bool = False
    # Where the axis begins; None where the values say.
    least: float | None = 0
    decimals: int | None = None
    # From which value on it is yellow, and red.
    warning: float | None = None
    critical: float | None = None
    # Of a stat: shows its query's name though there is only one.
    named: bool = False
    # Of a table: what a column of labels is called, in this order; others are left out.
    columns: Sequence[tuple[str, str]] = ()
    # Of a table: units of queries that have another than `unit`, by their legend.
    column_units: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Row:
    """Panels below a heading, from left to right."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Variable:
    """What the reader chooses: values of a label of a series."""

    name: str
    label: str
    query: str
    # May all be chosen at once, as a regular expression.
    includes_all: bool = False


@dataclass(frozen=True)
class Dashboard:
    """A dashboard; `uid` is also its file's name."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]
    variables: Sequence[Variable] = field(default_factory=tuple)


def _ref(index: int) -> str:
    return chr(ord("A") + index)


def _target(panel: Panel, index: int, query: Query) -> Json:
    instant = panel.kind in ("stat", "bargauge", "table")
    form = {"table": "table", "heatmap": "heatmap"}.get(panel.kind, "time_series")
    return {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "format": form,
        "instant": instant,
        "legendFormat": query.legend,
        "range": not instant,
        "refId": _ref(index),
    }


def _thresholds(panel: Panel) -> Json:
    steps: list[Json] = [{"color": "green", "value": None}]
    if panel.warning is not None:
        steps.append({"color": "yellow", "value": panel.warning})
    if panel.critical is not None:
        steps.append({"color": "red", "value": panel.critical})
    return {"mode": "absolute", "steps": steps}


def _line_style(panel: Panel) -> Json:
    return {
        "drawStyle": "line",
        "fillOpacity": 40 if panel.stacked else 5,
        "lineWidth": 1,
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if panel.stacked else "none"},
    }


def _override(name: str, **properties: object) -> Json:
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": each, "value": properties[each]} for each in properties],
    }


def _field_config(panel: Panel) -> Json:
    defaults: Json = {"unit": panel.unit, "thresholds": _thresholds(panel)}
    if panel.least is not None:
        defaults["min"] = panel.least
    if panel.decimals is not None:
        defaults["decimals"] = panel.decimals
    if panel.kind == "timeseries":
        defaults["custom"] = _line_style(panel)
    if panel.kind in ("stat", "bargauge"):
        defaults["color"] = {"mode": "thresholds"}
    overrides = [_override(name, unit=unit) for name, unit in panel.column_units]
    return {"defaults": defaults, "overrides": overrides}


_LAST: Json = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[str, Json] = {
    "timeseries": {
        "legend": {
            "calcs": [],
            "displayMode": "list",
            "placement": "bottom",
            "showLegend": True,
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": _LAST,
        "textMode": "auto",
    },
    "bargauge": {
        "displayMode": "gradient",
        "orientation": "horizontal",
        "reduceOptions": _LAST,
        "showUnfilled": True,
        "valueMode": "color",
    },
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Blues", "steps": 32},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": False},
    },
    "table": {"cellHeight": "sm", "footer": {"show": False}, "showHeader": True},
}


def _options(panel: Panel) -> Json:
    if panel.named:
        return {**_OPTIONS[panel.kind], "textMode": "value_and_name"}
    if panel.kind != "heatmap":
        return _OPTIONS[panel.kind]
    return {**_OPTIONS["heatmap"], "yAxis": {"unit": panel.unit, "reverse": False}}


def _table_transformations(panel: Panel) -> list[Json]:
    """One row for each set of labels, a column for each query."""
    shown = [label for label, _ in panel.columns]
    values = [f"Value #{_ref(index)}" for index in range(len(panel.queries))]
    if len(panel.queries) == 1:
        values = ["Value"]
    names = [each.legend for each in panel.queries]
    renamed = {**dict(panel.columns), **dict(zip(values, names, strict=True))}
    order = {name: index for index, name in enumerate([*shown, *values])}
    kept = {"include": {"names": [*shown, *values]}}
    return [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": kept},
        {"id": "organize", "options": {"indexByName": order, "renameByName": renamed}},
    ]


def _panel_json(panel: Panel, number: int, x: int, y: int) -> Json:
    made: Json = {
        "datasource": DATASOURCE,
        "description": panel.description,
        "fieldConfig": _field_config(panel),
        "gridPos": {"h": panel.height, "w": panel.width, "x": x, "y": y},
        "id": number,
        "options": _options(panel),
        "targets": [_target(panel, i, each) for i, each in enumerate(panel.queries)],
        "title": panel.title,
        "type": panel.kind,
    }
    if panel.kind == "table":
        made["transformations"] = _table_transformations(panel)
    return made


def _row_json(row: Row, number: int, y: int) -> Json:
    return {
        "collapsed": False,
        "gridPos": {"h": 1, "w": GRID_WIDTH, "x": 0, "y": y},
        "id": number,
        "panels": [],
        "title": row.title,
        "type": "row",
    }


def _place(rows: Sequence[Row]) -> list[Json]:
    """Panels beside each other as far as they fit, rows below each other."""
    made: list[Json] = []
    y = 0
    for row in rows:
        made.append(_row_json(row, len(made) + 1, y))
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            if x + panel.width > GRID_WIDTH:
                x, y, height = 0, y + height, 0
            made.append(_panel_json(panel, len(made) + 1, x, y))
            x += panel.width
            height = max(height, panel.height)
        y += height
    return made


def _datasource_variable() -> Json:
    return {
        "current": {},
        "hide": 0,
        "includeAll": False,
        "label": "Data source",
        "multi": False,
        "name": "datasource",
        "options": [],
        "query": "prometheus",
        "refresh": 1,
        "regex": "",
        "type": "datasource",
    }


def _query_variable(variable: Variable) -> Json:
    made: Json = {
        "current": {},
        "datasource": DATASOURCE,
        "hide": 0,
        "includeAll": variable.includes_all,
        "label": variable.label,
        "multi": False,
        "name": variable.name,
        "options": [],
        "query": {"query": variable.query, "refId": "values"},
        # When the time range changes: values come and go.
        "refresh": 2,
        "regex": "",
        "sort": 1,
        "type": "query",
    }
    if variable.includes_all:
        made["allValue"] = ".*"
        made["current"] = {"text": "All", "value": "$__all"}
    return made


def dashboard_json(dashboard: Dashboard) -> Json:
    """What Grafana loads."""
    variables = [_datasource_variable()]
    variables += [_query_variable(each) for each in dashboard.variables]
    return {
        "annotations": {"list": []},
        "description": dashboard.description,
        "editable": True,
        "graphTooltip": 1,
        "links": [
            {
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
                "tags": ["evenpack"],
                "title": "Evenpack",
                "type": "dashboards",
            }
        ],
        "panels": _place(dashboard.rows),
        "refresh": "30s",
        "schemaVersion": SCHEMA_VERSION,
        "tags": ["evenpack"],
        "templating": {"list": variables},
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "title": dashboard.title,
        "uid": dashboard.uid,
        "version": 1,
    }
