"""What a source file of server/core may include and name.

The engine's results must be a pure function of its inputs. So it may use no clock,
thread, randomness, input or output, environment, locale, and nothing whose order
depends on a hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Headers of the standard library that bring values, containers and algorithms only.
# <functional> brings std::hash too, which FORBIDDEN_NAMES refuses.
STANDARD_HEADERS = frozenset(
    """
    algorithm array bit bitset cassert charconv climits cmath compare concepts cstddef
    cstdint cstring deque functional initializer_list iterator limits list map memory
    new numbers numeric optional queue ratio set span stack string string_view tuple
    type_traits utility variant vector version
    """.split()
)

# Abseil is allowed but for these: clocks, randomness, locks, command lines, hashing.
FORBIDDEN_ABSEIL = re.compile(
    r"absl/(?:time|random|synchronization|flags|log|debugging|hash|profiling)/"
    r"|absl/container/.*hash|absl/base/call_once|absl/base/internal|absl/.*/internal/"
)

FORBIDDEN_NAMES = {
    "clock": re.compile(
        r"\bstd::chrono\b|\babsl::(?:Now|Time|GetCurrentTimeNanos)\b"
        r"|\b(?:clock_gettime|gettimeofday|timespec_get|localtime|gmtime|strftime)\b"
        r"|(?<![\w.>])(?:time|clock)\s*\(\s*(?:\)|NULL|nullptr|0\s*\)|&)"
        r"|\b(?:std)?::(?:time|clock)\s*\(|\b__rdtsc\b|\b__(?:DATE|TIME|TIMESTAMP)__\b"
    ),
    "thread": re.compile(
        r"\bstd::(?:\w*mutex|j?thread|this_thread|async|future|promise|atomic\w*"
        r"|condition_variable\w*|call_once|\w*_lock|lock_guard|barrier|latch"
        r"|execution)\b"
        r"|\bthread_local\b|\bpthread_\w+|\babsl::(?:Mutex\w*|CondVar|Notification)\b"
    ),
    "randomness": re.compile(
        r"\bstd::(?:rand|srand|random_device|mt19937(?:_64)?|default_random_engine"
        r"|shuffle|random_shuffle|sample|\w+_distribution)\b"
        r"|\b(?:s?rand|s?random|d?rand48|getrandom|getentropy|arc4random\w*)\s*\("
        r"|\babsl::(?:BitGen|InsecureBitGen|Uniform)\b"
    ),
    "input or output": re.compile(
        r"\bstd::(?:cout|cerr|clog|cin|wcout|[io]?f?stream|[io]?stringstream|filesystem"
        r"|print|println|puts|printf)\b"
        r"|(?<!\w)(?:v?[fds]?n?printf|fputs|puts|putchar|fopen|freopen|fread|fwrite"
        r"|fgets|perror|scanf|sscanf|popen|mmap|socket)\s*\(|\babsl::F?PrintF\b"
        r"|\b(?:stdout|stderr|stdin)\b|(?:^|[^\w:]):{2}(?:open|read|write|close)\s*\("
    ),
    "environment": re.compile(
        r"\b(?:secure_)?getenv\b|\b[su]etenv\b|\bputenv\b|\b(?:setlocale|std::locale)\b"
        r"|(?<![\w.>])(?:std::)?(?:system|getpid|gethostname|signal)\s*\("
    ),
    # The order of an ordered container of pointers is that of the allocator.
    "order by hash or address": re.compile(
        r"\bstd::hash\b|\bstd::unordered_\w+|\babsl::(?:Hash\w*|(?:flat|node)_hash_\w+)"
        r"|\bAbslHashValue\b|\bstd::(?:map|set)<\s*(?:const\s+)?[\w:]+\s*(?:const\s*)?\*"
    ),
}

INCLUDE = re.compile(r"^\s*#\s*(?:include|include_next|import)\b\s*(.*)$")
INCLUDED = re.compile(r"^(?:<([^>]+)>|\"([^\"]+)\")")

COMMENT_OR_LITERAL = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"'
    # A digit before a quote makes it a separator, as in 1'000.
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)

CORE = "server/core"


@dataclass(frozen=True)
class Violation:
    """A line of a source file that breaks a rule."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        """As compilers write it."""
        return f"{self.path}:{self.line}: {self.reason}"


def rooms_in_order(core_cmake: str) -> list[str]:
    """The rooms of server/core/CMakeLists.txt; a room may use those before it."""
    without_comments = re.sub(r"#.*", "", core_cmake)
    return re.findall(r"\badd_subdirectory\(\s*([\w-]+)", without_comments)


def without_comments_and_literals(text: str) -> str:
    """The code alone, on the same lines; include lines keep their file names."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        line_start = text.rfind("\n", 0, match.start()) + 1
        if found[0] == '"' and INCLUDE.match(text[line_start : match.end()]):
            return found
        return " " + "\n" * found.count("\n")

    return COMMENT_OR_LITERAL.sub(blank, text)


def reason_against_room(included: str, room: str, rooms: list[str]) -> str | None:
    """Why a file of `room` may not include this file of server/core, if it may not."""
    other = included.removeprefix(f"{CORE}/").split("/")[0]
    if other not in rooms:
        return f'includes "{included}", which is in no room of {CORE}/CMakeLists.txt'
    if rooms.index(other) > rooms.index(room):
        return (
            f'includes "{included}", but {room} may use only itself and the rooms '
            f"before it: {', '.join(rooms[: rooms.index(room)]) or 'none'}"
        )
    return None


def reason_against_include(argument: str, room: str, rooms: list[str]) -> str | None:
    """Why an include directive with this argument is refused, or None if it isn't."""
    match = INCLUDED.match(argument.strip())
    if match is None:
        return (
            f"includes {argument.strip()}; only <header> or a quoted path is accepted"
        )
    included = match.group(1) or match.group(2)
    if included.startswith(f"{CORE}/"):
        return reason_against_room(included, room, rooms)
    if included.startswith("absl/"):
        if FORBIDDEN_ABSEIL.match(included):
            return f"includes {included}, which is not pure"
        return None
    if match.group(1) in STANDARD_HEADERS:
        return None
    return (
        f"includes {included}; accepted are abseil, {CORE}, and these headers of the "
        "standard library: " + " ".join(sorted(STANDARD_HEADERS))
    )


def violations_in_file(path: str, text: str, rooms: list[str]) -> Iterator[Violation]:
    """What in the text of `path`, given from the repository's root, is not pure."""
    room = path.removeprefix(f"{CORE}/").split("/")[0]
    if room not in rooms:
        yield Violation(path, 1, f"is in no room of {CORE}/CMakeLists.txt")
        return
    code = without_comments_and_literals(text)
    for number, line in enumerate(code.splitlines(), start=1):
        include = INCLUDE.match(line)
        if include is not None:
            reason = reason_against_include(include.group(1), room, rooms)
            if reason is not None:
                yield Violation(path, number, reason)
            continue
        for kind, pattern in FORBIDDEN_NAMES.items():
            match = pattern.search(line)
            if match is not None:
                yield Violation(path, number, f"{kind}: {match.group().strip()}")


def violations_in_tree(root: Path) -> tuple[int, list[Violation]]:
    """The number of source files of the repository's engine, and what is wrong."""
    core = root / CORE
    rooms = rooms_in_order((core / "CMakeLists.txt").read_text(encoding="utf-8"))
    files = sorted(
        path
        for path in core.rglob("*")
        if path.is_file() and path.name != "CMakeLists.txt" and path.suffix != ".md"
    )
    violations: list[Violation] = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        violations += violations_in_file(str(file.relative_to(root)), text, rooms)
    return len(files), violations
