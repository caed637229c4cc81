"""Draws the figures of docs/fidelity.md.

    draw_losses.py RESULTS IMAGES

RESULTS is what study.py wrote; IMAGES gets fidelity.png and fidelity-steps.png.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from comparison import (
    ADDED,
    COMPARED_WITH,
    CONTROL,
    MARGIN,
    Results,
    curve_difference,
    difference,
    per_cent,
)
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = {
    "original": "#8c564b",
    "fixed_greedy_1": "#e09f3e",
    CONTROL: "#d62828",
    "wlb_1": "#8ab6d6",
    "wlb_2": "#2a6f97",
    "wlb_3": "#013a63",
    ADDED: "#7b9e6b",
}
SHOWN_STEPS = ("unpacked", "original", "fixed_greedy_1", CONTROL, "wlb_1", "wlb_3")


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG."""
    figure.tight_layout()
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})


def _margin(axes: Axes) -> None:
    axes.axhspan(-MARGIN, MARGIN, color="#dddddd", alpha=0.5, linewidth=0)
    axes.axhline(0, color="black", linewidth=0.8)


def draw_losses_alone(results: Results, axes: Axes) -> None:
    """Training loss by tokens: mean and range over seeds."""
    millions = results["setting"]["tokens"] / 1e6
    for arm in ("unpacked", *COMPARED_WITH):
        values = np.array([seed["training"] for seed in results["arms"][arm]["seeds"]])
        places = (np.arange(values.shape[1]) + 0.5) / values.shape[1] * millions
        colour = COLOURS.get(arm, "#333333")
        axes.plot(places, values.mean(0), color=colour, label=arm, linewidth=1)
        axes.fill_between(
            places, values.min(0), values.max(0), color=colour, alpha=0.12
        )
    axes.set_xlabel("million tokens")
    axes.set_ylabel("training loss, nats a token")
    axes.legend(fontsize=7)


def draw_training(results: Results, axes: Axes) -> None:
    """Training loss by tokens, per cent above the baseline's: bands over seeds."""
    millions = results["setting"]["tokens"] / 1e6
    for arm, base in COMPARED_WITH.items():
        own, other = (
            [seed["training"] for seed in results["arms"][name]["seeds"]]
            for name in (arm, base)
        )
        values = np.array([per_cent(a, b) for a, b in zip(own, other, strict=True)])
        places = (np.arange(values.shape[1]) + 0.5) / values.shape[1] * millions
        axes.plot(places, values.mean(0), color=COLOURS[arm], linewidth=1.2)
        axes.fill_between(
            places, values.min(0), values.max(0), color=COLOURS[arm], alpha=0.15
        )
    axes.set_xlabel("million tokens")
    axes.set_ylabel("training loss over baseline, %")


def draw_curves(results: Results, axes: Axes) -> None:
    """Held-out loss along the way, per cent above the baseline's: 90 % intervals."""
    millions = results["setting"]["tokens"] / 1e6
    for i, arm in enumerate(COMPARED_WITH):
        points = curve_difference(results, arm)
        places = [(at + 0.012 * (i - 2.5)) * millions for at, _ in points]
        means = [found.mean for _, found in points]
        half = [found.high - found.mean for _, found in points]
        axes.errorbar(places, means, half, color=COLOURS[arm], capsize=2, linewidth=1)
    axes.set_xlabel("million tokens")
    axes.set_ylabel("held-out loss over baseline, %")


def draw_final(results: Results, axes: Axes) -> None:
    """Held-out loss at the end: each seed, mean and 90 % interval."""
    for place, arm in enumerate(COMPARED_WITH):
        found = difference(results, arm)
        base = [s["held_out"]["all"] for s in _seeds(results, COMPARED_WITH[arm])]
        each = per_cent([s["held_out"]["all"] for s in _seeds(results, arm)], base)
        axes.plot([place] * len(each), each, "o", color=COLOURS[arm], markersize=3)
        half = found.high - found.mean
        axes.errorbar(
            place + 0.2, found.mean, half, fmt="s", color=COLOURS[arm], capsize=3
        )
    axes.set_xticks(range(len(COMPARED_WITH)), COMPARED_WITH, rotation=35, ha="right")
    axes.set_ylabel("held-out loss at the end, %")


def _seeds(results: Results, arm: str) -> list[dict[str, dict[str, float]]]:
    found: list[dict[str, dict[str, float]]] = results["arms"][arm]["seeds"]
    return found


def draw_losses(results: Results, path: Path) -> None:
    """The losses, and what they differ by, with the margin in grey."""
    figure = Figure(figsize=(12, 9), dpi=90)
    (alone, training), (curves, final) = figure.subplots(2, 2)
    for axes in (training, curves, final):
        _margin(axes)
    draw_losses_alone(results, alone)
    draw_training(results, training)
    draw_curves(results, curves)
    draw_final(results, final)
    save(figure, path)


def draw_steps(results: Results, path: Path) -> None:
    """Some steps in a row: tokens above, the share in long documents below."""
    figure = Figure(figsize=(14, 4.8), dpi=110)
    axes = figure.subplots(2, len(SHOWN_STEPS), sharey="row")
    for column, arm in enumerate(SHOWN_STEPS):
        steps = results["arms"][arm]["some_steps"]
        colour = COLOURS.get(arm, "#333333")
        upper, lower = axes[0][column], axes[1][column]
        upper.bar(range(len(steps["tokens"])), steps["tokens"], 1.0, color=colour)
        shares = [100 * share for share in steps["long_share"]]
        lower.bar(range(len(shares)), shares, 1.0, color=colour)
        upper.set_title(arm, fontsize=9)
        lower.set_xlabel("step")
    axes[0][0].set_ylabel("tokens a step")
    axes[1][0].set_ylabel("tokens in long documents, %")
    save(figure, path)


def main() -> int:
    """Draws both."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    results = json.loads(Path(sys.argv[1]).read_text())
    images = Path(sys.argv[2])
    images.mkdir(parents=True, exist_ok=True)
    draw_losses(results, images / "fidelity.png")
    draw_steps(results, images / "fidelity-steps.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
