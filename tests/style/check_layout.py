"""Checks what holds for every file of the repository, whatever its language.

- No file names the host of a package registry or mirror: the package managers'
  own configuration says where packages come from.
- No source file is longer than MAX_LINES.
- No file or folder is named after nothing in particular (utils, helpers, common).
- No number's name in C++ is a macro, no type's name a typedef.
- No C++ file includes a source.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MAX_LINES = 500
MEASURED_FOLDERS = ("server", "client", "gpu_worker", "tests")
MEASURED_SUFFIXES = (".cc", ".h", ".py", ".sh")

# path: why the file is better in one piece.
LONG_FILES: dict[str, str] = {}

REGISTRY_HOST = re.compile(
    r"(?:pypi|pythonhosted|npmjs|yarnpkg|crates|anaconda|rubygems|golang|ghcr|quay)"
    r"[.](?:org|com|io)\b"
    r"|\b(?:deb|security|ftp|snapshot|archive|mirrors?|registry|registry-1|index|proxy)"
    r"[.][a-z0-9.-]+[.](?:org|com|net|io|cn)\b",
    re.IGNORECASE,
)

EMPTY_NAME = re.compile(r"(?:^|[/_.-])(?:utils?|helpers?|common)(?=$|[/_.-])")

CPP_SUFFIXES = (".cc", ".h", ".cu", ".cuh")
NUMBER_AS_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+[-+~( \t]*[0-9]", re.MULTILINE
)
SOURCE_INCLUDED = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<]\S+\.(?:cc|cu)[">]', re.MULTILINE
)
TYPEDEF = re.compile(r"^[ \t]*typedef\b", re.MULTILINE)


def registry_hosts(path: str, text: str) -> list[str]:
    """One message for each registry host that `text` names."""
    return [
        f"{path}:{number}: names the host {match.group()}; leave where packages "
        "come from to the configuration of the package manager"
        for number, line in enumerate(text.splitlines(), start=1)
        for match in REGISTRY_HOST.finditer(line)
    ]


def overlong(path: str, text: str) -> list[str]:
    """A message if `path` is a source file that is too long."""
    measured = path.startswith(tuple(f"{folder}/" for folder in MEASURED_FOLDERS))
    lines = len(text.splitlines())
    if not measured or not path.endswith(MEASURED_SUFFIXES) or lines <= MAX_LINES:
        return []
    if path in LONG_FILES:
        return []
    return [
        f"{path}: {lines} lines; at most {MAX_LINES} are accepted: split it, or give "
        "the reason in LONG_FILES of tests/style/check_layout.py"
    ]


def unnecessary_exceptions(line_counts: dict[str, int]) -> list[str]:
    """A message for each entry of LONG_FILES that no longer needs to be there."""
    return [
        f"LONG_FILES lists {path}, which is not longer than {MAX_LINES} lines"
        for path in LONG_FILES
        if line_counts.get(path, 0) <= MAX_LINES
    ]


def empty_name(path: str) -> list[str]:
    """A message if the path has a name that says nothing."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path).lower()
    match = EMPTY_NAME.search(words)
    if match is None:
        return []
    return [f"{path}: a name that says nothing; name it after what it holds"]


def lines_of_c(path: str, text: str) -> list[str]:
    """One message for each line of C++ that C++ has something better for."""
    if not path.endswith(CPP_SUFFIXES):
        return []

    def at(match: re.Match[str]) -> str:
        return f"{path}:{text.count(chr(10), 0, match.start()) + 1}"

    return (
        [
            f"{at(match)}: includes a source; declare what it has in a header"
            for match in SOURCE_INCLUDED.finditer(text)
        ]
        + [
            f"{at(match)}: {match.group(1)} is a macro; make the number a constexpr "
            "or an enum"
            for match in NUMBER_AS_MACRO.finditer(text)
        ]
        + [
            f"{at(match)}: typedef; name the type by `using`"
            for match in TYPEDEF.finditer(text)
        ]
    )


def problems_of(path: str, content: bytes) -> list[str]:
    """All messages about one file."""
    found = empty_name(path)
    if b"\0" in content:
        return found
    text = content.decode("utf-8", errors="replace")
    found += registry_hosts(path, text) + overlong(path, text)
    return found + lines_of_c(path, text)


def main() -> int:
    """Checks the repository that holds this script."""
    root = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        [root / "tests/style/list_files.sh"], check=True, capture_output=True
    ).stdout.decode("utf-8")
    paths = [path for path in listed.split("\0") if path]
    problems: list[str] = []
    line_counts: dict[str, int] = {}
    for path in paths:
        content = (root / path).read_bytes()
        line_counts[path] = content.count(b"\n")
        problems += problems_of(path, content)
    problems += unnecessary_exceptions(line_counts)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(paths)} files, {len(problems)} problems")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
