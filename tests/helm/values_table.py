"""The table of the chart's values in its README, made of values.yaml.

values_table.py --write    puts it between the README's markers
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from chart import CHART

README = CHART / "README.md"
BEGIN = "<!-- values: made by tests/helm/values_table.py --write -->\n"
END = "<!-- end of values -->\n"

KEY = re.compile(r"^( *)([A-Za-z][\w-]*):(?: (.*))?$")
COMMENT = re.compile(r"^( *)# ?(.*)$")
# A value that is longer is left to values.yaml.
LONGEST_DEFAULT = 48


@dataclass
class Key:
    """A key of values.yaml with the comment above it."""

    path: tuple[str, ...]
    comment: str


def keys_of(text: str) -> Iterator[Key]:
    """All keys in their order, sections too.

    A comment belongs to the key below it, with nothing between.
    """
    parents: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        if said := COMMENT.match(line):
            comment.append(said.group(2))
            continue
        if key := KEY.match(line):
            depth = len(key.group(1))
            while parents and parents[-1][0] >= depth:
                parents.pop()
            parents.append((depth, key.group(2)))
            yield Key(tuple(name for _, name in parents), " ".join(comment))
        comment = []


def value_at(values: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401
    """What values.yaml has at a path."""
    for name in path:
        values = values[name]
    return values


def default_text(value: Any) -> str:  # noqa: ANN401
    """A value as the table shows it."""
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) <= LONGEST_DEFAULT else "see values.yaml"


def rows(text: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Path, default and comment of each value, and of each section with a comment.

    A map within which nothing has a comment is a value.
    """
    values = yaml.safe_load(text)
    keys = list(keys_of(text))
    whole: tuple[str, ...] | None = None
    for at, key in enumerate(keys):
        if whole is not None and key.path[: len(whole)] == whole:
            continue
        below = [
            other for other in keys[at + 1 :] if other.path[: len(key.path)] == key.path
        ]
        if any(other.comment for other in below):
            if key.comment:
                yield key.path, "", key.comment
            continue
        whole = key.path
        yield key.path, default_text(value_at(values, key.path)), key.comment


def table(text: str) -> str:
    """The table in Markdown."""
    lines = ["| value | default | |", "|---|---|---|"]
    for path, default, comment in rows(text):
        said = comment.replace("|", "\\|")
        lines.append(f"| `{'.'.join(path)}` | {default} | {said} |")
    return "\n".join(lines) + "\n"


def with_table(readme: str, values: str) -> str:
    """The README with the table that belongs to the values."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(values)}\n{END}{after}"


def main() -> None:
    """Writes the README, or prints the table."""
    values = (CHART / "values.yaml").read_text(encoding="utf-8")
    if sys.argv[1:] == ["--write"]:
        readme = README.read_text(encoding="utf-8")
        README.write_text(with_table(readme, values), encoding="utf-8")
    else:
        print(table(values), end="")


if __name__ == "__main__":
    main()
