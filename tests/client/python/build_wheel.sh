#!/usr/bin/env bash
# Builds the package as its users get it: an sdist, from that alone a wheel, and of that a
# fresh environment. With only the package's dependencies there, its first example runs.
#   build_wheel.sh DIRECTORY   (all in it but caches is made anew)
set -euo pipefail
mkdir -p "$1"
out="$(cd "$1" && pwd)"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
package="$here/../../../client/python"
libraries="$("$here/install_libraries.sh")"
rm -rf "$out/dist" "$out/environment" "$out/unpacked"
mkdir "$out/unpacked"

"$libraries/bin/python" -m build --sdist --outdir "$out/dist" "$package"
# In folders whose names are the same each time, or ccache would know nothing of it.
tar -xzf "$out"/dist/*.tar.gz -C "$out/unpacked" --strip-components 1
# With attention on a device where cuDNN's headers are found.
frontend="$(cd "$here/../../.." && pwd)/build-test-cudnn/include"
"$libraries/bin/pip" wheel --no-deps --no-cache-dir --wheel-dir "$out/dist" \
  --config-settings "cmake.define.EVENPACK_CUDNN_FRONTEND=$frontend" \
  --config-settings "build-dir=$out/unpacked/build" "$out/unpacked"

python3 -m venv "$out/environment"
"$out/environment/bin/pip" install --quiet --disable-pip-version-check "$out"/dist/*.whl
"$out/environment/bin/python" "$package/examples/first_use.py"
# From here on what the tests need besides.
site="$("$libraries/bin/python" -c 'import site; print(site.getsitepackages()[0])')"
echo "$site" >"$("$out/environment/bin/python" \
  -c 'import site; print(site.getsitepackages()[0])')/libraries.pth"
