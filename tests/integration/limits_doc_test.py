"""docs/limits.md has the bounds of the flags and of the sources."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
# A number with a range, as --help has it.
FLAG = re.compile(r"^  (--[\w-]+) N:UINT in \[\d+ - \d+\]=(\d+)$", re.MULTILINE)
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) \|", re.MULTILINE)
CONSTANT = re.compile(r"constexpr \w+ (k\w+) =\s*([^;]+);")
NUMBER = re.compile(r"(?:u?int\d+_t|size_t)\{(\d+)\}|(\d[\d']*)")


def documented() -> dict[str, int]:
    """The rows of the page's tables."""
    text = (SOURCE / "docs/limits.md").read_text(encoding="utf-8")
    return {name: int(value) for name, value in ROW.findall(text)}


def value_of(expression: str) -> int | None:
    """Of a constant, where it is a number or a shifted one."""
    factors = [NUMBER.fullmatch(part.strip()) for part in expression.split("<<")]
    numbers = [int((m[1] or m[2]).replace("'", "")) for m in factors if m is not None]
    if not numbers or len(numbers) != len(factors):
        return None
    return numbers[0] << sum(numbers[1:])


def constants() -> dict[str, set[int | None]]:
    """Those of the server's sources, by name."""
    found: dict[str, set[int | None]] = {}
    for path in (SOURCE / "server").rglob("*"):
        if path.suffix in {".cc", ".h"}:
            text = path.read_text(encoding="utf-8")
            for name, expression in CONSTANT.findall(text):
                found.setdefault(name, set()).add(value_of(expression))
    return found


class LimitsDocTest(unittest.TestCase):
    def test_every_number_among_the_flags_is_there_with_its_default(self) -> None:
        shown = subprocess.run(
            [os.environ["EVENPACK_SERVER_PROGRAM"], "--help"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
        flags = {name: int(value) for name, value in FLAG.findall(shown)}
        self.assertGreater(len(flags), 20)
        rows = documented().items()
        self.assertEqual({n: v for n, v in rows if n.startswith("--")}, flags)

    def test_constants_are_those_of_the_sources(self) -> None:
        rows = {n: v for n, v in documented().items() if n.startswith("k")}
        self.assertGreater(len(rows), 10)
        sources = constants()
        for name, value in rows.items():
            self.assertEqual(sources.get(name), {value}, name)


if __name__ == "__main__":
    unittest.main()
