"""What evenpackctl says on standard error where calls fail for a while."""

from __future__ import annotations


def complaints(stderr: str) -> list[str]:
    """Its lines, but those that say how long it has waited, which is no failure."""
    lines = stderr.splitlines()
    return [line for line in lines if not line.startswith("evenpackctl: note: ")]
