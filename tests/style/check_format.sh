#!/usr/bin/env bash
# Checks that C++ files are formatted as .clang-format says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mapfile -d '' files < <(tests/style/list_files.sh '*.h' '*.cc')
[[ ${#files[@]} -gt 0 ]] || { echo "found no C++ file" >&2; exit 1; }
# Of each finding its place; `clang-format -i FILE` shows and mends what is wrong there.
clang-format --dry-run -Werror "${files[@]}" 2>&1 | sed -n '/: error: /p'
echo "${#files[@]} files"
