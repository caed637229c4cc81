#!/usr/bin/env bash
# Builds the package as its users get it: an sdist, from that alone a wheel in an empty
# folder, and of that a fresh environment. With only the package's dependencies there, its
# first example runs.
#   build_wheel.sh DIRECTORY   (dist/ and environment/ in it are made anew)
set -euo pipefail
mkdir -p "$1"
out="$(cd "$1" && pwd)"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
package="$here/../../../client/python"
libraries="$("$here/install_libraries.sh")"
empty="$(mktemp -d)"
trap 'rm -rf "$empty"' EXIT
rm -rf "$out/dist" "$out/environment"

"$libraries/bin/python" -m build --sdist --outdir "$out/dist" "$package"
cp "$out"/dist/*.tar.gz "$empty"
# With attention on a device where cuDNN's headers are found.
frontend="$(cd "$here/../../.." && pwd)/build-test-cudnn/include"
cd "$empty"
"$libraries/bin/pip" wheel --no-deps --no-cache-dir --wheel-dir "$out/dist" \
  --config-settings "cmake.define.EVENPACK_CUDNN_FRONTEND=$frontend" ./*.tar.gz

python3 -m venv "$out/environment"
"$out/environment/bin/pip" install --quiet --disable-pip-version-check "$out"/dist/*.whl
"$out/environment/bin/python" "$package/examples/first_use.py"
# From here on what the tests need besides.
site="$("$libraries/bin/python" -c 'import site; print(site.getsitepackages()[0])')"
echo "$site" >"$("$out/environment/bin/python" \
  -c 'import site; print(site.getsitepackages()[0])')/libraries.pth"
