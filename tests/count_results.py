"""Counts the tests that tests/run.sh ran and says which of them failed.

    count_results.py DIRECTORY

DIRECTORY holds JUnit files (NAME.xml), of CTest one per build tree and of pytest, and,
where other checks ran, checks.tsv: a line `passed|failed|skipped TAB name` for each.
The last line printed is `N passed, N failed`, with `, N skipped` where some were. The
exit status is 1 if a test failed or none ran.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

# Enough to see an assertion; the whole output is in the JUnit file.
OUTPUT_LINES_SHOWN = 40
COLUMNS_SHOWN = 200
LINES_OF_A_FAILURE = 8
# What GoogleTest, sanitizers and Abseil begin an account of a failure with.
FAILURE = re.compile(r": Failure$|^\[  FAILED  \]|Sanitizer: |\bRAW: ")


class Outcome(Enum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """One test's outcome and, for a failed one, what it printed."""

    name: str
    outcome: Outcome
    output: str = ""


def outcome_of_case(case: ElementTree.Element) -> Outcome:
    """Reads a JUnit test case as CTest or, without a status, pytest writes it.

    CTest marks as skipped also what it could not start, such as a program that was not
    built. That is a failure; only a test that skips itself, or is disabled, is skipped.
    """
    status = case.get("status")
    if status is None:
        if case.find("failure") is not None or case.find("error") is not None:
            return Outcome.FAILED
        skips = case.find("skipped") is not None
        return Outcome.SKIPPED if skips else Outcome.PASSED
    if status == "run" and case.find("failure") is None:
        return Outcome.PASSED
    if status == "disabled":
        return Outcome.SKIPPED
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return Outcome.SKIPPED
    return Outcome.FAILED


def _output_of(case: ElementTree.Element) -> str:
    """What CTest caught, or pytest's account of the failure, and processes' output."""
    kinds = ("system-out", "failure", "error")
    account = next((text for text in map(case.findtext, kinds) if text), "")
    return "\n".join(filter(None, [account, case.findtext("system-err")]))


def results_of_junit(path: Path) -> list[Result]:
    """The results in a JUnit file; one without a test counts as a failed test."""
    try:
        cases = ElementTree.parse(path).getroot().findall(".//testcase")
    except ElementTree.ParseError as error:
        return [Result(f"{path.stem}: results", Outcome.FAILED, str(error))]
    if not cases:
        return [Result(f"{path.stem}: results", Outcome.FAILED, "no test ran")]
    return [
        Result(
            f"{path.stem}: {case.get('name', '')}",
            outcome_of_case(case),
            _output_of(case),
        )
        for case in cases
    ]


def results_of_checks(path: Path) -> list[Result]:
    """The results in checks.tsv; their output was shown when they ran."""
    results = []
    for line in path.read_text(encoding="utf-8").splitlines():
        outcome, _, name = line.partition("\t")
        results.append(Result(name, Outcome(outcome)))
    return results


def collect(directory: Path) -> list[Result]:
    """All results under `directory`."""
    results = []
    for path in sorted(directory.glob("*.xml")):
        results += results_of_junit(path)
    checks = directory / "checks.tsv"
    if checks.exists():
        results += results_of_checks(checks)
    return results


def excerpt(output: str) -> list[str]:
    """The end of a failed test's output, behind what tells of failures before it.

    A program of many tests, and of a server's log, goes on for long after a failure.
    """
    lines = [line[:COLUMNS_SHOWN] for line in output.splitlines()]
    end = max(0, len(lines) - OUTPUT_LINES_SHOWN)
    telling = {
        number
        for begin, line in enumerate(lines[:end])
        if FAILURE.search(line)
        for number in range(begin, min(begin + LINES_OF_A_FAILURE, end))
    }
    return [lines[at] for at in sorted(telling)[:OUTPUT_LINES_SHOWN]] + lines[end:]


def summary(results: list[Result]) -> str:
    """The last line: how many passed, failed, were skipped."""
    count = Counter(result.outcome for result in results)
    line = f"{count[Outcome.PASSED]} passed, {count[Outcome.FAILED]} failed"
    if count[Outcome.SKIPPED]:
        line += f", {count[Outcome.SKIPPED]} skipped"
    return line


def succeeded(results: list[Result]) -> bool:
    """True if something passed and nothing failed."""
    outcomes = {result.outcome for result in results}
    return Outcome.PASSED in outcomes and Outcome.FAILED not in outcomes


def main(arguments: list[str]) -> int:
    """Prints the failures and the summary."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: count_results.py DIRECTORY_OF_RESULTS", file=sys.stderr)
        return 2
    results = collect(Path(arguments[0]))
    for result in results:
        if result.outcome is not Outcome.PASSED:
            print(f"{result.outcome.name} {result.name}")
        if result.outcome is Outcome.FAILED:
            for line in excerpt(result.output):
                print(f"    {line}")
    print(summary(results))
    return 0 if succeeded(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
