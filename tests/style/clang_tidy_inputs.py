"""Says what clang-tidy is to read of a build tree, and by which commands.

    clang_tidy_inputs.py together|apart BUILD_DIRECTORY DATABASE_DIRECTORY <SOURCES

SOURCES are paths that each end with NUL, relative to the working directory; those that
the build doesn't compile are passed over. Printed in the same way is what to run
clang-tidy on: with `together` the files that the build gives the compiler, which
may each include several sources; with `apart` the sources one by one.
DATABASE_DIRECTORY gets a compile_commands.json that has each of them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

INCLUDED_SOURCE = re.compile(r'^#include "(.*\.cc)"$', re.MULTILINE)


def sources_of(unit: str) -> list[str]:
    """The sources that the build compiles by this file: itself, or what it includes."""
    if "/Unity/" not in unit:
        return [unit]
    return INCLUDED_SOURCE.findall(Path(unit).read_text(encoding="utf-8"))


def inputs(
    commands: list[dict[str, Any]], wanted: set[str], together: bool
) -> list[dict[str, Any]]:
    """The commands of what to read, each as the build's, by its path."""
    chosen: dict[str, dict[str, Any]] = {}
    for command in commands:
        unit = command["file"]
        for source in wanted.intersection(sources_of(unit)):
            path = unit if together else source
            text = command["command"].replace(unit, path)
            chosen[path] = {**command, "file": path, "command": text}
    return [chosen[path] for path in sorted(chosen)]


def main() -> int:
    """Runs as the module's text says."""
    how, build, database = sys.argv[1:]
    names = sys.stdin.read().split("\0")
    wanted = {str(Path(name).resolve()) for name in names if name}
    text = (Path(build) / "compile_commands.json").read_text(encoding="utf-8")
    chosen = inputs(json.loads(text), wanted, how == "together")
    written = json.dumps(chosen, indent=1)
    (Path(database) / "compile_commands.json").write_text(written, encoding="utf-8")
    sys.stdout.write("".join(command["file"] + "\0" for command in chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
