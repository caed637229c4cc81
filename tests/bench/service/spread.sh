#!/usr/bin/env bash
# One, two and three servers of a PostgreSQL database against SQLite; spread_bench.py
# says what is measured.
#   tests/bench/service/spread.sh traffic [--rounds N] [--under-way N] ...
#   tests/bench/service/spread.sh idle [--jobs N] ...
# Builds what it runs in build-test-gcc/. JSON on standard output, progress on standard
# error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
build="build-test-gcc"
python="build-test-venv/bin/python"
stubs="$build/bench/stubs"
{
  tests/install_python_packages.sh
  [[ -f "$build/build.ninja" ]] || cmake --preset gcc-test
  cmake --build "$build" --target evenpack-server process_bench
  tests/integration/generate_stubs.sh "$python" "$stubs"
} >&2

export EVENPACK_SERVER_PROGRAM="$PWD/$build/bin/evenpack-server"
export PROCESS_BENCH="$PWD/$build/bench/process_bench"
export PYTHONPATH="$stubs:tests/testing:tests/integration"
exec "$python" -B tests/bench/service/spread_bench.py "$@"
