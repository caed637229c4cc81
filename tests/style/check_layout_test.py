"""Tests of check_layout.py: every rule catches what it is there for."""

from __future__ import annotations

import unittest
from unittest import mock

import check_layout

# Put together here, so that this file does not name a host itself.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
        ("crates", "io"),
        ("mirror", "example", "com"),
    )
]


class CheckLayoutTest(unittest.TestCase):
    def test_registry_hosts_are_found_with_their_line(self) -> None:
        for host in REGISTRIES:
            with self.subTest(host=host):
                text = f"first line\nRUN pip install -i https://{host}/simple x\n"
                problems = check_layout.problems_of("deploy/Dockerfile", text.encode())
                self.assertEqual(len(problems), 1)
                self.assertIn("deploy/Dockerfile:2:", problems[0])

    def test_other_addresses_are_accepted(self) -> None:
        text = b"https://arxiv.org/abs/1, https://www.apache.org/licenses, index.html"
        self.assertEqual(check_layout.problems_of("README.md", text), [])

    def test_long_source_file_is_found(self) -> None:
        limit = check_layout.MAX_LINES
        for lines, count in ((limit, 0), (limit + 1, 1)):
            problems = check_layout.problems_of("server/core/a.cc", b"x\n" * lines)
            self.assertEqual(len(problems), count)

    def test_long_data_file_is_accepted(self) -> None:
        text = b"1\n" * (check_layout.MAX_LINES + 1)
        self.assertEqual(check_layout.problems_of("tests/golden/a.txt", text), [])
        self.assertEqual(check_layout.problems_of("deploy/data/a.sh", text), [])

    def test_exceptions_must_be_needed(self) -> None:
        with mock.patch.dict(check_layout.LONG_FILES, {"server/a.cc": "a table"}):
            text = b"x\n" * (check_layout.MAX_LINES + 1)
            self.assertEqual(check_layout.problems_of("server/a.cc", text), [])
            needed = {"server/a.cc": check_layout.MAX_LINES + 1}
            self.assertEqual(check_layout.unnecessary_exceptions(needed), [])
            for counts in ({}, {"server/a.cc": check_layout.MAX_LINES}):
                self.assertEqual(len(check_layout.unnecessary_exceptions(counts)), 1)

    def test_names_that_say_nothing_are_found(self) -> None:
        for path in (
            "server/core/utils.h",
            "server/common/a.h",
            "client/string_util.cc",
            "tests/TestHelpers.cc",
            "tests/helper_test.cc",
        ):
            with self.subTest(path=path):
                self.assertEqual(len(check_layout.problems_of(path, b"")), 1)

    def test_names_that_only_contain_such_a_word_are_accepted(self) -> None:
        for path in ("server/utilization.h", "docs/commonplace.md"):
            with self.subTest(path=path):
                self.assertEqual(check_layout.problems_of(path, b""), [])

    def test_lines_of_c_are_found_with_their_line(self) -> None:
        for line in (
            "#define kMost 8",
            "# define MASK (1 << 3)",
            "  #define A -1L",
            "  typedef int Count;",
            '#include "server/core/b.cc"',
        ):
            for path in ("server/core/a.h", "gpu_worker/cuda/a.cu"):
                with self.subTest(line=line, path=path):
                    text = f"// A\n\n{line}\n"
                    problems = check_layout.problems_of(path, text.encode())
                    self.assertEqual(len(problems), 1)
                    self.assertIn(f"{path}:3:", problems[0])

    def test_other_macros_are_accepted(self) -> None:
        for text in (
            b"#define SERVER_A_H_\n",
            b"#define FIND(x) 1\n",
            b'#define NAME "8"\n',
            b"#define LANES [[gnu::always_inline]] inline\n",
            b"// #define OLD 1\n// typedef int Old;\nint typedefs;\n",
        ):
            with self.subTest(text=text):
                self.assertEqual(check_layout.problems_of("server/a.h", text), [])

    def test_macros_of_other_languages_are_accepted(self) -> None:
        self.assertEqual(check_layout.problems_of("docs/a.md", b"#define A 1\n"), [])


if __name__ == "__main__":
    unittest.main()
