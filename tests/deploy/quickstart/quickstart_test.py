"""What deploy/quickstart.sh takes, and refuses before it installs anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/quickstart.sh")
EVENPACKCTL = os.environ["EVENPACKCTL"]
# An exit status of no other step.
INSTALLING = 77
VALUES = {
    "--lengths": "-",
    "--idx": "corpus",
    "--queue-thresholds": "49152,98304",
    "--backlog-limit": "2.5",
    "--crossover": "4.7e4",
    "--model": "7B",
    "--hardware": "H200",
    "--split-documents": "true",
    "--split-overlong": "false",
}


def flags_of_compare() -> list[str]:
    """All that `evenpackctl compare` has, but for --help."""
    refused = subprocess.run(
        [EVENPACKCTL, "compare", "--nope"], capture_output=True, text=True
    )
    return re.findall(r"--(?!nope|help)[a-z-]+", refused.stderr)


class QuickstartTest(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "deploy").mkdir()
        shutil.copy(SCRIPT, self.root / "deploy")
        # In place of the first thing that is done.
        install = self.root / "deploy/install_packages.sh"
        install.write_text(f"#!/bin/sh\nexit {INSTALLING}\n", encoding="utf-8")
        install.chmod(0o755)

    def run_with(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "deploy/quickstart.sh", *arguments],
            capture_output=True,
            text=True,
        )

    def assert_taken(self, *arguments: str) -> None:
        done = self.run_with(*arguments)
        self.assertEqual(done.returncode, INSTALLING, f"{arguments} {done.stderr}")

    def assert_refused(self, message: str, *arguments: str) -> None:
        done = self.run_with(*arguments)
        self.assertEqual(done.returncode, 2, f"{arguments} {done.stderr}")
        self.assertIn(message, done.stderr)

    def test_every_flag_of_compare_is_taken_with_a_value_of_its_kind(self) -> None:
        flags = flags_of_compare()
        self.assertGreater(len(flags), 15)
        for flag in flags:
            with self.subTest(flag=flag):
                if flag == "--json":
                    self.assert_taken(flag)
                    continue
                value = VALUES.get(flag, "8")
                self.assert_taken(flag, value)
                self.assert_taken("--keep", f"{flag}={value}", "--json")
                self.assert_refused(f"{flag} has no value", flag)

    def test_no_arguments_and_a_directory_are_taken(self) -> None:
        (self.root / "text").mkdir()
        (self.root / "text/a.txt").write_text("words\n", encoding="utf-8")
        self.assert_taken()
        self.assert_taken("--keep", f"{self.root}/text", "--window", "65536")

    def test_what_compare_does_not_have_is_refused_at_once(self) -> None:
        self.assert_refused("'--windw' is not accepted", "--windw", "65536")
        self.assert_refused("'text' is not accepted", "--json", "text")

    def test_keep_stands_first(self) -> None:
        for arguments in (("--json", "--keep"), (f"{self.root}", "--keep")):
            self.assert_refused("--keep comes before all else", *arguments)

    def test_a_value_of_another_kind_is_refused_at_once(self) -> None:
        for flag, value in (
            ("--window", "abc"),
            ("--window", "128K"),
            ("--window", ""),
            ("--crossover", "many"),
            ("--queue-thresholds", "49152;98304"),
            ("--split-overlong", "yes"),
        ):
            message = f"{flag}: '{value}' is not accepted; accepted: "
            self.assert_refused(message, flag, value)
            self.assert_refused(message, f"{flag}={value}")


if __name__ == "__main__":
    unittest.main()
