#!/usr/bin/env bash
# Builds the programs as images have them, stripped, into PREFIX/bin. It is the build
# stage of the Dockerfile, and needs Debian 12 and nothing else.
#   deploy/docker/build.sh PREFIX [BUILD_FOLDER]
# BUILD_FOLDER: where it is built, and left; without it in a folder that is removed.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || "$1" == -* ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
prefix="$1"
build="${2:-}"
if [[ -z "$build" ]]; then
  build="$(mktemp -d)"
  trap 'rm -rf "$build"' EXIT
fi

"$root/deploy/install_packages.sh" build
export CCACHE_DISABLE=1 # a cache would be a layer of the image
cmake --preset release -S "$root" -B "$build" -DEVENPACK_DEMO=ON
cmake --build "$build" --parallel "$(nproc)"
cmake --install "$build" --prefix "$prefix" --strip
