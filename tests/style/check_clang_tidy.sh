#!/usr/bin/env bash
# Runs clang-tidy, as .clang-tidy says, on the programs' sources. It comes from PyPI:
# Debian 12's goes through every declaration of the system's headers for every check,
# which takes five times as long.
#   check_clang_tidy.sh BUILD_DIRECTORY [PATHSPEC...]
# The directory has compile_commands.json; pathspecs say which sources of those that are
# compiled there, all of the repository's own build unless given.
set -euo pipefail
build="$(cd "$1" && pwd)"
shift
[[ $# -gt 0 ]] || set -- 'server/*.cc' 'client/*.cc' 'gpu_worker/*.cc' ':!client/python'
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compiled="$(python3 -c '
import json, os, sys
for command in json.load(open(sys.argv[1])):
    print(os.path.relpath(command["file"]))' "$build/compile_commands.json")"
mapfile -d '' files < <(tests/style/list_files.sh "$@" |
  grep --null-data --fixed-strings --line-regexp --file=<(echo "$compiled"))
[[ ${#files[@]} -gt 0 ]] || { echo "found no C++ source" >&2; exit 1; }
# The program itself: the script of this name starts Python for every file.
clang_tidy="$(build-test-venv/bin/python -c \
  'import clang_tidy; print(clang_tidy.get_executable("clang-tidy"))')"
# The count of warnings in system headers, which are not shown, is left out.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "$clang_tidy" --quiet -p "$build" 2>&1 |
  sed '/^[0-9]* warnings\{0,1\} generated\.$/d'
echo "${#files[@]} files"
