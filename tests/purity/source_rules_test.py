"""Tests of source_rules.py: each rule catches a made-up impure file, and only that."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import check_core_purity
import source_rules

ROOMS = ["digest", "document", "cost"]

IMPURE_HEADERS = """
    atomic chrono condition_variable cstdio cstdlib ctime execution filesystem fstream
    future iomanip iosfwd iostream istream latch locale mutex ostream random regex
    semaphore shared_mutex sstream stdio.h stop_token syncstream thread time.h unistd.h
    unordered_map unordered_set sys/time.h pthread.h grpcpp/grpcpp.h
""".split()

IMPURE_ABSEIL = [
    "absl/time/clock.h",
    "absl/random/random.h",
    "absl/synchronization/mutex.h",
    "absl/container/flat_hash_map.h",
    "absl/container/node_hash_set.h",
    "absl/hash/hash.h",
    "absl/flags/flag.h",
    "absl/base/call_once.h",
    "absl/strings/internal/str_format/arg.h",
]

# kind of FORBIDDEN_NAMES: lines that must be found.
IMPURE_LINES = {
    "clock": [
        "auto t = std::chrono::steady_clock::now();",
        "absl::Time t = absl::Now();",
        "clock_gettime(CLOCK_MONOTONIC, &t);",
        "auto t = time(nullptr);",
        "auto t = std::time(&now);",
        "auto t = clock();",
        'auto built = __DATE__ " ";',
    ],
    "thread": [
        "std::thread worker(Run);",
        "std::jthread worker(Run);",
        "std::mutex lock;",
        "std::shared_mutex lock;",
        "std::atomic<int> count;",
        "std::atomic_flag seen;",
        "auto x = std::async(Run);",
        "thread_local int depth = 0;",
        "absl::Mutex lock;",
        "std::sort(std::execution::par, a, b);",
    ],
    "randomness": [
        "int x = std::rand();",
        "int x = rand() % 6;",
        "std::random_device device;",
        "std::mt19937_64 engine(1);",
        "std::shuffle(a.begin(), a.end(), engine);",
        "std::uniform_int_distribution<int> d(0, 1);",
        "absl::BitGen generator;",
    ],
    "input or output": [
        "std::cout << 1;",
        "std::cerr << 1;",
        "printf(text);",
        "std::fprintf(stderr, text);",
        "snprintf(buffer, 4, text);",
        "std::ofstream out(path);",
        "std::ostringstream out;",
        "FILE* file = fopen(path, mode);",
        "int fd = ::open(path, 0);",
        "absl::PrintF(text);",
    ],
    "environment": [
        "const char* home = getenv(name);",
        "const char* home = std::getenv(name);",
        "std::locale::global(other);",
        "std::system(command);",
    ],
    "order by hash or address": [
        "size_t h = std::hash<int>{}(1);",
        "std::unordered_map<int, int> counts;",
        "absl::flat_hash_map<int, int> counts;",
        "size_t h = absl::HashOf(1);",
        "std::set<const Document*> seen;",
        "std::map<Document*, int> places;",
    ],
}

PURE_FILE = r"""
// std::thread and printf( are only spoken of. #include <thread>
#include "server/core/document/document.h"

#include <algorithm>
#include <map>
#include "absl/status/statusor.h"
#include "server/core/digest/digest.h"

/* std::cout << "nothing";
   rand() */
namespace evenpack {
constexpr int kMany = 1'000'000;
const char* kText = "call time(nullptr) \" std::rand()";
const char* kRaw = R"x(std::cerr << ")" << 1;)x";
const char kQuote = '"';
int64_t predicted_time(const Step& step) { return step.time() + step.clock(); }
int64_t runtime(std::map<uint64_t, uint32_t> counts);
bool reopen(const Queue& q) { return q.open(1) && random_access(q) && operand(1); }
}  // namespace evenpack
"""


def reasons(text: str, path: str = "server/core/document/a.cc") -> list[str]:
    """What is said against a file with this text."""
    return [str(v) for v in source_rules.violations_in_file(path, text, ROOMS)]


class SourceRulesTest(unittest.TestCase):
    def test_pure_file_is_accepted(self) -> None:
        self.assertEqual(reasons(PURE_FILE), [])

    def test_impure_standard_and_foreign_headers_are_found(self) -> None:
        for header in IMPURE_HEADERS:
            for include in (f"#include <{header}>", f'#  include "{header}"'):
                with self.subTest(include=include):
                    found = reasons(f"int a;\n{include}\n")
                    self.assertEqual(len(found), 1)
                    self.assertIn(f"a.cc:2: includes {header};", found[0])

    def test_impure_abseil_headers_are_found(self) -> None:
        for header in IMPURE_ABSEIL:
            with self.subTest(header=header):
                found = reasons(f'#include "{header}"\n')
                self.assertEqual(len(found), 1)
                self.assertIn("not pure", found[0])

    def test_include_through_a_macro_is_found(self) -> None:
        self.assertEqual(len(reasons("#include HEADER\n")), 1)
        self.assertEqual(len(reasons("#include \\\n<thread>\n")), 1)

    def test_include_after_a_comment_is_found(self) -> None:
        self.assertEqual(len(reasons("/* why */ #include <thread>\n")), 1)

    def test_room_may_use_itself_and_the_rooms_before_it(self) -> None:
        for room, accepted in (("digest", True), ("document", True), ("cost", False)):
            with self.subTest(room=room):
                found = reasons(f'#include "server/core/{room}/b.h"\n')
                self.assertEqual(found == [], accepted, found)

    def test_files_outside_the_listed_rooms_are_found(self) -> None:
        for path in ("server/core/loose.cc", "server/core/other/a.cc"):
            self.assertEqual(len(reasons("", path)), 1)
        self.assertEqual(len(reasons('#include "server/core/other/a.h"\n')), 1)
        self.assertEqual(len(reasons('#include "server/store/store.h"\n')), 1)

    def test_impure_names_are_found_with_their_kind(self) -> None:
        self.assertEqual(IMPURE_LINES.keys(), source_rules.FORBIDDEN_NAMES.keys())
        for kind, lines in IMPURE_LINES.items():
            for line in lines:
                with self.subTest(line=line):
                    found = reasons(f"// first\n{line}\n")
                    self.assertTrue(any(f"a.cc:2: {kind}: " in f for f in found), found)

    def test_code_after_literals_and_comments_is_still_read(self) -> None:
        for line in (
            'Log("//"); std::rand();',
            'Log("a\\""); std::rand();',
            "Log('\"'); std::rand();",
            "int n = 1'000; std::rand(); int m = 2'000;",
            "/* a */ std::rand(); // b",
        ):
            with self.subTest(line=line):
                self.assertEqual(len(reasons(line)), 1)

    def test_rooms_are_read_in_their_order(self) -> None:
        text = "# add_subdirectory(zero)\nadd_subdirectory(b)\nadd_subdirectory( a )\n"
        self.assertEqual(source_rules.rooms_in_order(text), ["b", "a"])


class TreeTest(unittest.TestCase):
    def problems_of_tree(self, files: dict[str, str]) -> list[str]:
        """What the check says about a repository of these files of server/core."""
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                path = Path(directory) / "server/core" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_core_purity.check_sources(Path(directory))

    def test_every_file_of_the_tree_is_read(self) -> None:
        problems = self.problems_of_tree(
            {
                "CMakeLists.txt": "add_subdirectory(digest)",
                "digest/digest.h": "#include <cstdint>\n",
                "digest/deep/table.inc": "std::thread t;\n",
                "digest/digest.cc": "#include <ctime>\n",
            }
        )
        self.assertEqual(len(problems), 2)
        self.assertIn("server/core/digest/deep/table.inc:1: thread", problems[0])
        self.assertIn("server/core/digest/digest.cc:1: includes ctime", problems[1])

    def test_tree_without_sources_is_an_error(self) -> None:
        problems = self.problems_of_tree({"CMakeLists.txt": ""})
        self.assertEqual(len(problems), 1)


if __name__ == "__main__":
    unittest.main()
