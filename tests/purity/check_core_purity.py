"""Proves that server/core is pure, from its sources or from its libraries.

    check_core_purity.py sources ROOT
    check_core_purity.py libraries --compiler CXX --nm NM --allow LIBRARY.. -- ARCHIVE..

source_rules.py and link_rules.py hold the rules.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import link_rules
import source_rules


def check_sources(root: Path) -> list[str]:
    """What is wrong with the sources under `root`."""
    count, violations = source_rules.violations_in_tree(root)
    print(f"{count} source files of the engine")
    if count == 0:
        return [f"{root} holds no source file of the engine"]
    return [str(violation) for violation in violations]


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Proves that server/core is pure.")
    modes = parser.add_subparsers(dest="mode", required=True)
    sources = modes.add_parser("sources")
    sources.add_argument("root", type=Path)
    libraries = modes.add_parser("libraries")
    libraries.add_argument("--compiler", required=True)
    libraries.add_argument("--nm", required=True)
    libraries.add_argument("--allow", type=Path, nargs="*", default=[])
    libraries.add_argument("archives", type=Path, nargs="*")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Prints what is not pure; the exit status is 1 if there is something."""
    chosen = parse(arguments)
    if chosen.mode == "sources":
        problems = check_sources(chosen.root)
    else:
        tools = link_rules.Tools(chosen.compiler, chosen.nm, tuple(chosen.allow))
        problems = link_rules.archive_problems(chosen.archives, tools)
        print(f"{len(chosen.archives)} libraries of the engine")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
