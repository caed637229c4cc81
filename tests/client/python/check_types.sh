#!/usr/bin/env bash
# Checks the types of the installed package and of its tests with mypy.
#   check_types.sh DIRECTORY   (of build_wheel.sh)
set -euo pipefail
out="$(cd "$1" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
mapfile -d '' files < <(tests/style/list_files.sh \
  'tests/client/python/*.py' 'client/python/examples/*.py' 'client/python/packaging/*.py' \
  tests/bench/payload_bench.py tests/bench/python_bench.py 'tests/bench/fidelity/*.py' \
  ':!tests/bench/fidelity/draw_losses.py')
[[ ${#files[@]} -gt 0 ]] || { echo "found no Python file" >&2; exit 1; }
mypy=("$(tests/client/python/install_libraries.sh)/bin/mypy"
  --config-file tests/client/python/mypy.ini --cache-dir "$out/mypy-cache"
  --python-executable "$out/environment/bin/python")
"${mypy[@]}" --package evenpack
# What comes of untyped libraries is as it is.
"${mypy[@]}" --no-warn-return-any "${files[@]}"
