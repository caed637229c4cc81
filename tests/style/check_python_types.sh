#!/usr/bin/env bash
# Checks the types of the Python files with mypy, but for those that use the
# package, which tests/client/python/check_types.sh checks with it installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mapfile -d '' files < <(tests/style/list_files.sh '*.py' \
  ':!client/python' ':!tests/client/python' \
  ':!tests/bench/payload_bench.py' ':!tests/bench/python_bench.py' \
  ':(glob,exclude)tests/bench/fidelity/[!d]*.py' ':!tests/bench/fidelity/decoder.py')
[[ ${#files[@]} -gt 0 ]] || { echo "found no Python file" >&2; exit 1; }
# The API's types, which the integration tests use.
tests/integration/generate_stubs.sh build-test-venv/bin/python build-test-venv/stubs
build-test-venv/bin/mypy --config-file tests/style/mypy.ini \
  --cache-dir build-test-venv/mypy-cache "${files[@]}"
