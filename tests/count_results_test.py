"""Tests of count_results.py."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import count_results

PASSED = '<testcase name="A.Passes" status="run"/>'
FAILED = (
    '<testcase name="A.Fails" status="fail"><failure message=""/>'
    "<system-out>expected 1 &lt; 0</system-out></testcase>"
)
SKIPS_ITSELF = (
    '<testcase name="A.Skips" status="notrun">'
    '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'
)
NOT_BUILT = (
    '<testcase name="b_NOT_BUILT" status="notrun">'
    '<skipped message="Unable to find executable"/></testcase>'
)
OF_PYTEST = (
    '<testcase name="passes"/>'
    '<testcase name="fails"><failure message="">assert 1 == 2</failure>'
    "<system-err>Fatal: Aborted</system-err></testcase>"
    '<testcase name="breaks"><error message="">no fixture</error></testcase>'
    '<testcase name="skips"><skipped message="no torch"/></testcase>'
)
DISABLED = '<testcase name="A.Disabled" status="disabled"/>'


class CountResultsTest(unittest.TestCase):
    def run_on(self, *cases: str, checks: str | None = None) -> tuple[int, list[str]]:
        """Exit status and printed lines for a directory with these results."""
        with tempfile.TemporaryDirectory() as directory:
            if cases:
                text = f"<testsuite>{''.join(cases)}</testsuite>"
                (Path(directory) / "gcc.xml").write_text(text, encoding="utf-8")
            if checks is not None:
                path = Path(directory) / "checks.tsv"
                path.write_text(checks, encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                status = count_results.main([directory])
        return status, printed.getvalue().splitlines()

    def test_everything_passed(self) -> None:
        status, lines = self.run_on(PASSED, PASSED, checks="passed\tclang-format\n")
        self.assertEqual((status, lines), (0, ["3 passed, 0 failed"]))

    def test_failure_is_named_with_its_output(self) -> None:
        status, lines = self.run_on(PASSED, FAILED)
        self.assertEqual(status, 1)
        self.assertEqual(
            lines,
            ["FAILED gcc: A.Fails", "    expected 1 < 0", "1 passed, 1 failed"],
        )

    def test_failure_is_shown_however_much_was_printed_since(self) -> None:
        before = ["before"] * 50
        told = ["a_test.cc:7: Failure", "Expected: 1", "Actual: 0"]
        log = [f"info number={number} " + "x" * 300 for number in range(100)]
        output = "\n".join([*before, *told, *log])
        case = FAILED.replace("expected 1 &lt; 0", output)
        _, lines = self.run_on(PASSED, case)
        shown = [line.strip() for line in lines[1:-1]]
        self.assertEqual(shown[:3], told)
        self.assertEqual(shown[3:8], [line[:200] for line in log[:5]])
        self.assertEqual(shown[8:], [line[:200] for line in log[-40:]])

    def test_program_that_was_not_built_is_a_failure(self) -> None:
        status, lines = self.run_on(PASSED, NOT_BUILT)
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_results_of_pytest_have_no_status(self) -> None:
        status, lines = self.run_on(OF_PYTEST)
        self.assertEqual(status, 1)
        self.assertEqual(
            lines,
            [
                "FAILED gcc: fails",
                "    assert 1 == 2",
                "    Fatal: Aborted",
                "FAILED gcc: breaks",
                "    no fixture",
                "SKIPPED gcc: skips",
                "1 passed, 2 failed, 1 skipped",
            ],
        )

    def test_skipped_and_disabled_are_counted_apart(self) -> None:
        status, lines = self.run_on(PASSED, SKIPS_ITSELF, DISABLED)
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 2 skipped"))

    def test_failed_check(self) -> None:
        status, lines = self.run_on(PASSED, checks="failed\tclang-tidy\n")
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["FAILED clang-tidy", "1 passed, 1 failed"])

    def test_nothing_ran(self) -> None:
        self.assertEqual(self.run_on(), (1, ["0 passed, 0 failed"]))
        self.assertEqual(self.run_on(SKIPS_ITSELF)[0], 1)

    def test_junit_file_without_tests_is_a_failure(self) -> None:
        status, lines = self.run_on("", checks="passed\tclang-format\n")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_truncated_junit_file_is_a_failure(self) -> None:
        status, lines = self.run_on("<testcase")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
