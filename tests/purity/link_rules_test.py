"""Tests of link_rules.py on small libraries compiled here.

The environment's CXX and NM name the tools.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import check_core_purity
import link_rules

COMPILER = os.environ.get("CXX", "g++")
NM = os.environ.get("NM", "nm")

PURE = """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int Sum(const std::vector<int>& v, std::map<std::string, int> m) {
  std::vector<int> copy = v;
  std::stable_sort(copy.begin(), copy.end());
  return copy.empty() ? m["none"] : copy.front();
}
"""

# symbol expected: a source that calls it.
IMPURE = {
    "std::chrono": """
#include <chrono>
long F() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
""",
    "std::ostream": """
#include <ostream>
void F(std::ostream& out) { out << 1; }
""",
    "std::cout": """
#include <iostream>
void F() { std::cout.flush(); }
""",
    "std::ios_base::": """
#include <ios>
int F(std::ios_base& stream) { stream.imbue(stream.getloc()); return 0; }
""",
    "std::random_device": """
#include <random>
unsigned F() { return std::random_device()(); }
""",
    "std::thread": """
#include <thread>
void F() { std::thread([] {}).join(); }
""",
    "std::__detail::_Prime_rehash_policy": """
#include <unordered_map>
int F(int key) { std::unordered_map<int, int> m; m[key] = 1; return m.size(); }
""",
    "std::_Hash_bytes": """
#include <functional>
#include <string>
unsigned long F(const std::string& s) { return std::hash<std::string>()(s); }
""",
    "std::locale": """
#include <locale>
bool F(char c) { return std::isalpha(c, std::locale()); }
""",
}

IMPURE_C_FUNCTIONS = """
    clock clock_gettime fopen fprintf fputs fwrite getenv getrandom gettimeofday open
    open64 printf __printf_chk pthread_create pthread_mutex_lock rand rand_r random read
    secure_getenv snprintf __snprintf_chk socket time write
""".split()

PURE_C_FUNCTIONS = [
    "abort",
    "memcpy",
    "opening",
    "reading",
    "sqrt",
    "strlen",
    "strtime",
]


class LinkRulesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def archive(self, name: str, source: str) -> Path:
        """A static library of one object."""
        text, archive = self.folder / f"{name}.cc", self.folder / f"lib{name}.a"
        compiled = text.with_suffix(".o")
        text.write_text(source, encoding="utf-8")
        compile_ = [COMPILER, "-std=c++20", "-O1", "-c", str(text), "-o", str(compiled)]
        subprocess.run(compile_, check=True)
        subprocess.run(["ar", "qc", str(archive), str(compiled)], check=True)
        return archive

    def tools(self, *allowed: Path) -> link_rules.Tools:
        return link_rules.Tools(COMPILER, NM, allowed)

    def test_pure_library_is_accepted(self) -> None:
        archive = self.archive("pure", PURE)
        self.assertEqual(link_rules.archive_problems([archive], self.tools()), [])

    def test_impure_calls_through_cpp_headers_are_found(self) -> None:
        for symbol, source in IMPURE.items():
            with self.subTest(symbol=symbol):
                problems = link_rules.impure_symbols(self.archive("impure", source), NM)
                self.assertTrue(any(symbol in p for p in problems), problems)
                (self.folder / "libimpure.a").unlink()

    def calls_of(self, functions: list[str]) -> list[str]:
        """What is said against a library that calls these C functions."""
        declared = "".join(
            f'extern "C" void function_{i}() asm("{name}");\n'
            for i, name in enumerate(functions)
        )
        called = "".join(f"function_{i}();" for i in range(len(functions)))
        archive = self.archive("calls", f"{declared}void F() {{ {called} }}\n")
        return link_rules.impure_symbols(archive, NM)

    def test_impure_c_functions_are_found(self) -> None:
        expected = [f"libcalls.a: calls {name}" for name in sorted(IMPURE_C_FUNCTIONS)]
        self.assertEqual(self.calls_of(IMPURE_C_FUNCTIONS), expected)

    def test_other_c_functions_are_accepted(self) -> None:
        self.assertEqual(self.calls_of(PURE_C_FUNCTIONS), [])

    def test_call_into_a_library_that_is_not_allowed_does_not_link(self) -> None:
        foreign = self.archive("foreign", "int Elsewhere() { return 1; }\n")
        archive = self.archive(
            "core", "int Elsewhere(); int F() { return Elsewhere(); }"
        )
        problems = link_rules.link_problems([archive], self.tools())
        self.assertEqual(len(problems), 1)
        self.assertIn("undefined reference to `Elsewhere()'", problems[0])
        self.assertEqual(link_rules.link_problems([archive], self.tools(foreign)), [])

    def test_missing_library_is_found(self) -> None:
        missing = self.folder / "libmissing.a"
        problems = link_rules.archive_problems([missing], self.tools())
        self.assertEqual(problems, [f"{missing} is not there"])

    def test_no_library_is_an_error(self) -> None:
        self.assertEqual(len(link_rules.archive_problems([], self.tools())), 1)

    def test_program_fails_on_an_impure_library(self) -> None:
        for source, status in ((PURE, 0), (IMPURE["std::chrono"], 1)):
            archive = self.archive(f"status{status}", source)
            arguments = ["libraries", "--compiler", COMPILER, "--nm", NM, "--allow"]
            arguments += ["--", str(archive)]
            self.assertEqual(check_core_purity.main(arguments), status)


if __name__ == "__main__":
    unittest.main()
