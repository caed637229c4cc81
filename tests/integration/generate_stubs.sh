#!/usr/bin/env bash
# Generates the Python of the public API, with its types.
#   generate_stubs.sh PYTHON DIRECTORY
# PYTHON is that of the folder which tests/install_python_packages.sh makes.
set -euo pipefail
python="$1" out="$2"
proto="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../proto" && pwd)"
[[ -x "$python" ]] || {
  echo "generate_stubs.sh: '$python' is missing; run tests/install_python_packages.sh" >&2
  exit 1
}
rm -rf "$out"
mkdir -p "$out"
PATH="$(dirname "$python"):$PATH" "$python" -m grpc_tools.protoc -I "$proto" \
  --python_out="$out" --grpc_python_out="$out" \
  --mypy_out=quiet:"$out" --mypy_grpc_out=quiet:"$out" "$proto"/evenpack/v1/*.proto
