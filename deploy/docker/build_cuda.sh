#!/usr/bin/env bash
# Builds the worker with its checks for a device and their libraries, as one folder that
# runs on any x86-64 machine with glibc 2.36 or later (deploy/make_worker_bundle.sh). It
# is the build stage of the image worker-cuda, and needs Debian 12 and a CUDA toolkit, with
# cuDNN's headers.
#   CUDA_HOME=/usr/local/cuda deploy/docker/build_cuda.sh FOLDER
set -euo pipefail

if [[ $# -ne 1 || "$1" == -* || ! -x "${CUDA_HOME:-}/bin/nvcc" ||
  ! -f "$CUDA_HOME/include/cudnn.h" ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
build="$(mktemp -d)"
trap 'rm -rf "$build"' EXIT

"$root/deploy/install_packages.sh" build bundle
export CCACHE_DISABLE=1 # a cache would be a layer of the image
"$root/deploy/install_cudnn_frontend.sh" "$build/cudnn"
cmake --preset release -S "$root" -B "$build" -DEVENPACK_TESTS=ON -DEVENPACK_BENCH=ON \
  -DEVENPACK_CUDNN_FRONTEND="$build/cudnn/include"
mapfile -t targets < <("$root/deploy/make_worker_bundle.sh" --targets)
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"
"$root/deploy/make_worker_bundle.sh" "$build" "$build/bundle.tar.xz"
mkdir -p "$1"
tar -C "$1" --strip-components 1 -xf "$build/bundle.tar.xz"
