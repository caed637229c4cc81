"""A project that has this one as a part of it, as docs/client-cpp.md shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
# Of the build that the test is of: what of the API's sources is generated.
GENERATED = Path(os.environ["EVENPACK_GENERATED_DIR"])

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(outer CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_executable(trainer trainer.cc)
"""


def shown_commands() -> str:
    """The CMake of the document, for this project's directory."""
    text = (SOURCE / "docs" / "client-cpp.md").read_text(encoding="utf-8")
    found = re.search(r"```cmake\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1].replace(
        "add_subdirectory(evenpack ", f"add_subdirectory({SOURCE} evenpack "
    )


class OuterProjectTest(unittest.TestCase):
    def test_its_sources_are_compiled_as_it_likes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            outer = Path(folder)
            cmake = PROJECT + shown_commands()
            (outer / "CMakeLists.txt").write_text(cmake, encoding="utf-8")
            program = (SOURCE / "tests/client/cpp/first_use.cc").read_text("utf-8")
            # What warnings of this project would refuse.
            program += "\nint Rounded(double number) { return number; }\n"
            (outer / "trainer.cc").write_text(program, encoding="utf-8")
            build = outer / "build"
            subprocess.run(
                ["cmake", "-G", "Ninja", "-S", outer, "-B", build],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            commands = json.loads((build / "compile_commands.json").read_text("utf-8"))
            (own,) = (each for each in commands if each["file"].endswith("trainer.cc"))
            compile_it = shlex.split(own["command"])
            self.assertNotIn("-Werror", compile_it)
            ours = [each for each in commands if each["file"].endswith("backoff.cc")]
            self.assertIn("-Wconversion", shlex.split(ours[0]["command"]))
            subprocess.run(
                [*compile_it, "-isystem", str(GENERATED), "-fsyntax-only"],
                check=True,
                cwd=own["directory"],
            )


if __name__ == "__main__":
    unittest.main()
