"""Checks the links among Markdown files: each leads to a file, and to a heading of it.

Headings have the anchors that GitHub gives them. Links to other sites aren't followed.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$")
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
OTHER_SITE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of blocks of code, with their numbers from 1."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if fence:
            if match is not None and match[1].startswith(fence):
                fence = ""
        elif match is not None:
            fence = match[1]
        else:
            yield number, line


def anchor_of(heading: str) -> str:
    """What a heading is reached by, where no other one has the same."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def anchors_of(text: str) -> set[str]:
    """Those of a file's headings."""
    found: dict[str, int] = {}
    anchors = set()
    for _, line in prose(text):
        match = HEADING.match(line)
        if match is None:
            continue
        anchor = anchor_of(match[1])
        before = found.get(anchor, 0)
        found[anchor] = before + 1
        anchors.add(f"{anchor}-{before}" if before else anchor)
    return anchors


def dead_links(texts: Mapping[str, str], files: set[str]) -> list[str]:
    """One message for each link that leads nowhere.

    Args:
        texts: the Markdown files by their paths.
        files: all paths of the repository, folders too.
    """
    anchors = {path: anchors_of(text) for path, text in texts.items()}
    problems = []
    for path, text in texts.items():
        for number, line in prose(text):
            # Code shows a link rather than being one.
            for target in LINK.findall(re.sub(r"(`+)[^`]+\1", "``", line)):
                problem = _problem(path, target, anchors, files)
                if problem:
                    problems.append(f"{path}:{number}: {target}: {problem}")
    return problems


def _problem(
    path: str, target: str, anchors: Mapping[str, set[str]], files: set[str]
) -> str:
    if OTHER_SITE.match(target):
        return ""
    place, _, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
    if not place:
        there = path
    if there not in files:
        return f"there is no file {there}"
    if anchor and there in anchors and anchor not in anchors[there]:
        return f"no heading of {there} has that anchor"
    return ""


def with_folders(paths: list[str]) -> set[str]:
    """The paths, and the folders that they are in."""
    found = set(paths)
    for path in paths:
        found.update(parent.as_posix() for parent in Path(path).parents)
    return found


def main() -> int:
    """Checks the repository that holds this script."""
    root = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        [root / "tests/style/list_files.sh"], check=True, capture_output=True
    ).stdout.decode("utf-8")
    paths = [path for path in listed.split("\0") if path]
    texts = {
        path: (root / path).read_text("utf-8") for path in paths if path.endswith(".md")
    }
    problems = dead_links(texts, with_folders(paths))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(texts)} files, {len(problems)} dead links")
    return 1 if problems or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
