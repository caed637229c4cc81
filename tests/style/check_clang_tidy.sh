#!/usr/bin/env bash
# Runs clang-tidy, as .clang-tidy says, on the programs' sources. It comes from PyPI:
# Debian 12's goes through every declaration of the system's headers for every check,
# which takes five times as long.
#   check_clang_tidy.sh BUILD_DIRECTORY [PATHSPEC...]
# The directory has compile_commands.json. Without pathspecs, all sources of the
# repository's own build are read, several together as the build compiles them: most of
# the time goes into their headers. Those that pathspecs name are read one by one, which
# also finds what a source doesn't include itself.
set -euo pipefail
build="$(cd "$1" && pwd)"
shift
how=apart
if [[ $# == 0 ]]; then
  how=together
  set -- 'server/*.cc' 'client/*.cc' 'gpu_worker/*.cc' ':!client/python'
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
database="$(mktemp -d)"
trap 'rm -rf "$database"' EXIT
mapfile -d '' files < <(tests/style/list_files.sh "$@" |
  python3 tests/style/clang_tidy_inputs.py "$how" "$build" "$database")
[[ ${#files[@]} -gt 0 ]] || { echo "found no C++ source" >&2; exit 1; }
# The program itself: the script of this name starts Python for every file.
clang_tidy="$(build-test-venv/bin/python -c \
  'import clang_tidy; print(clang_tidy.get_executable("clang-tidy"))')"
# The count of warnings in system headers, which are not shown, is left out.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "$clang_tidy" --quiet -p "$database" 2>&1 |
  sed '/^[0-9]* warnings\{0,1\} generated\.$/d'
echo "${#files[@]} files"
