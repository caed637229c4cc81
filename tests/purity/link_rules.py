"""What the libraries of server/core may link and call.

The sources say what is written; the libraries say what is called, also from inside an
inlined header.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Names as nm prints them for undefined symbols, demangled. std::ios_base::Init is not
# among them: abseil's status.h includes <iostream>, which makes one in each object.
FORBIDDEN_SYMBOLS = re.compile(
    r"^(?:_*clock_gettime|gettimeofday|time|clock|timespec_get|localtime\w*|gmtime\w*"
    r"|fopen(?:64)?|freopen(?:64)?|open(?:64|at)?|close|read|write|pread\w*|pwrite\w*"
    r"|f?puts|putchar|fread|fwrite|fgets|mmap\w*|socket|connect|poll|popen|perror"
    r"|(?:__)?v?[fds]?n?printf(?:_chk)?|std(?:out|err|in)"
    r"|pthread_\w+|sem_\w+|nanosleep|usleep|sleep"
    r"|s?rand(?:_r)?|s?random|[delmn]?rand48|getrandom|getentropy|arc4random\w*"
    r"|(?:secure_)?getenv|setenv|setlocale|newlocale|system|fork|execv?\w*|getpid"
    r"|signal|sigaction)(?:@.*)?$"
    r"|std::(?:__\w+::)*(?:chrono|random_device|j?thread|this_thread|mutex|locale"
    r"|condition_variable|ios_base(?!::Init::)|cout|cerr|clog|cin|filesystem)\b"
    r"|std::(?:__\w+::)*basic_\w*(?:stream|filebuf|streambuf|ios)\b"
    r"|std::(?:o|i)stream\b|operator<<\(std::"
    # libstdc++'s and abseil's hash tables and hashes.
    r"|std::_Hash_bytes|std::__detail::_Prime_rehash_policy"
    r"|raw_hash_set|hash_internal|container_internal::.*[Hh]ash"
    r"|absl::(?:\w+::)*(?:Now|Mutex|CondVar|GetCurrentTimeNanos)\b|random_internal"
)


@dataclass(frozen=True)
class Tools:
    """The programs and libraries that the build uses."""

    compiler: str
    nm: str
    # Files of the abseil libraries that pure code may link.
    allowed_libraries: tuple[Path, ...] = ()


def undefined_symbols(archive: Path, nm: str) -> list[str]:
    """What the objects of an archive call from outside themselves, demangled."""
    listing = subprocess.run(
        [nm, "--demangle", "--undefined-only", "--format=posix", str(archive)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    symbols = set()
    for line in listing.splitlines():
        match = re.match(r"^(.+) [Uvw]\s*(?:0 0)?\s*$", line)
        if match is not None:
            symbols.add(match.group(1))
    return sorted(symbols)


def impure_symbols(archive: Path, nm: str) -> list[str]:
    """One message for each symbol that a pure library does not call."""
    symbols = undefined_symbols(archive, nm)
    return [
        f"{archive.name}: calls {symbol}"
        for symbol in symbols
        if FORBIDDEN_SYMBOLS.search(symbol)
    ]


def link_problems(archives: list[Path], tools: Tools) -> list[str]:
    """What the linker misses when all of the archives meet the allowed libraries alone.

    The program linked has an empty main; every object of the archives is taken in. The
    compiler adds the C++ and C libraries.
    """
    with tempfile.TemporaryDirectory() as directory:
        main = Path(directory) / "main.cc"
        main.write_text("int main() {}\n", encoding="utf-8")
        linked = subprocess.run(
            [
                tools.compiler,
                "-o",
                str(Path(directory) / "main"),
                str(main),
                "-Wl,--no-undefined",
                "-Wl,--whole-archive",
                *map(str, archives),
                "-Wl,--no-whole-archive",
                *map(str, tools.allowed_libraries),
            ],
            check=False,
            capture_output=True,
            text=True,
        )
    if linked.returncode == 0:
        return []
    return [
        f"does not link alone: {line}"
        for line in linked.stderr.splitlines()
        if "undefined reference" in line
    ] or [f"does not link alone: {linked.stderr}"]


def archive_problems(archives: list[Path], tools: Tools) -> list[str]:
    """All that is wrong with the engine's libraries."""
    problems = [
        f"{archive} is not there" for archive in archives if not archive.exists()
    ]
    if not archives:
        problems.append("no library of server/core was given")
    if problems:
        return problems
    for archive in archives:
        problems += impure_symbols(archive, tools.nm)
    return problems + link_problems(archives, tools)
