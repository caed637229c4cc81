"""Tests of clang_tidy_inputs.py."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from clang_tidy_inputs import inputs


class ClangTidyInputsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.unit = f"{folder.name}/a.dir/Unity/unity_0_cxx.cxx"
        Path(self.unit).parent.mkdir(parents=True)
        Path(self.unit).write_text(
            '/* generated */\n\n#include "/r/b.cc"\n\n#include "/r/a.cc"\n',
            encoding="utf-8",
        )
        self.commands = [
            {"file": self.unit, "command": f"c++ -DA -c {self.unit}", "directory": "/"},
            {"file": "/r/alone.cc", "command": "c++ -c /r/alone.cc", "directory": "/"},
            {"file": "/r/other.cc", "command": "c++ -c /r/other.cc", "directory": "/"},
        ]

    def test_together_is_each_file_that_the_compiler_is_given_once(self) -> None:
        wanted = {"/r/a.cc", "/r/b.cc", "/r/alone.cc", "/r/not_compiled.cc"}
        found = inputs(self.commands, wanted, together=True)
        self.assertEqual(found, sorted(self.commands[:2], key=lambda c: c["file"]))

    def test_together_is_nothing_of_what_has_no_wanted_source(self) -> None:
        found = inputs(self.commands, {"/r/alone.cc"}, together=True)
        self.assertEqual(found, [self.commands[1]])

    def test_apart_is_each_source_by_the_options_of_its_file(self) -> None:
        found = inputs(self.commands, {"/r/a.cc", "/r/alone.cc"}, together=False)
        self.assertEqual(
            [(command["file"], command["command"]) for command in found],
            [("/r/a.cc", "c++ -DA -c /r/a.cc"), ("/r/alone.cc", "c++ -c /r/alone.cc")],
        )


if __name__ == "__main__":
    unittest.main()
