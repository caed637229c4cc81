"""Draws excess against delay as SVG; the same figures give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 32, 48
COLOURS = ("#2a6f97", "#d62828", "#6a994e", "#bc6c25")
DECADES = (0.0001, 0.001, 0.01, 0.1, 1.0)


@dataclass(frozen=True)
class Curve:
    """Points (delay, excess) by rising delay."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class _Scale:
    # Delay from 0 to `most`, excess by its logarithm.
    most: float
    low: float
    high: float

    def x(self, delay: float) -> float:
        return LEFT + delay / self.most * (WIDTH - LEFT - RIGHT)

    def y(self, excess: float) -> float:
        share = (math.log10(max(excess, self.low)) - math.log10(self.low)) / (
            math.log10(self.high) - math.log10(self.low)
        )
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _scale(curves: Iterable[Curve]) -> _Scale:
    points = [point for curve in curves for point in curve.points]
    excess = [value for _, value in points]
    return _Scale(
        most=max(0.5, math.ceil(2 * max(delay for delay, _ in points)) / 2),
        low=max((d for d in DECADES if d <= min(excess)), default=DECADES[0]),
        high=min((d for d in DECADES if d >= max(excess)), default=DECADES[-1]),
    )


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def _axes(scale: _Scale) -> list[str]:
    lines = []
    for decade in DECADES:
        if not scale.low <= decade <= scale.high:
            continue
        y = scale.y(decade)
        lines.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            + _text(LEFT - 6, y + 4, f"{100 * decade:g}%", "end")
        )
    for i in range(round(2 * scale.most) + 1):
        lines.append(_text(scale.x(i / 2), HEIGHT - BOTTOM + 18, f"{i / 2:g}"))
    below = "mean token delay, global batches"
    lines.append(_text(LEFT + (WIDTH - LEFT) / 2, HEIGHT - 10, below))
    return lines


def draw(title: str, curves: Sequence[Curve]) -> str:
    """The picture: excess on a logarithmic axis, a name and a colour for each curve."""
    scale = _scale(curves)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 18, title),
        *_axes(scale),
    ]
    for i, (curve, colour) in enumerate(zip(curves, COLOURS, strict=False)):
        at = [(scale.x(delay), scale.y(excess)) for delay, excess in curve.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}"/>')
        lines += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at
        ]
        y = TOP + 16 * (i + 1)
        lines.append(
            f'<rect x="{WIDTH - 200}" y="{y - 9}" width="10" height="10" '
            f'fill="{colour}"/>'
        )
        lines.append(_text(WIDTH - 184, y, curve.name, "start"))
    return "\n".join([*lines, "</svg>", ""])
