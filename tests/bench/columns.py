"""Tables as text."""

from __future__ import annotations

import math


def number(value: float | None, scale: float = 1.0) -> str:
    """Three significant digits, thousands apart, or nothing."""
    if value is None:
        return ""
    value *= scale
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def aligned(cells: list[list[str]], left: set[int]) -> list[str]:
    """Lines with columns of equal width; those not in `left` end at the right."""
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
