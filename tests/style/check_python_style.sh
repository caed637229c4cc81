#!/usr/bin/env bash
# Checks the Python files with ruff: rules and format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mapfile -d '' files < <(tests/style/list_files.sh '*.py')
[[ ${#files[@]} -gt 0 ]] || { echo "found no Python file" >&2; exit 1; }
ruff() {
  build-test-venv/bin/ruff "$@" --no-cache --config tests/style/ruff.toml "${files[@]}"
}
ruff check
ruff format --check
