#!/usr/bin/env bash
# Packs the worker, its checks and its benches with the libraries that they need, for
# another x86-64 machine with glibc 2.36 or later: one with a GPU, say.
#   deploy/make_worker_bundle.sh BUILD_DIRECTORY FILE.tar.xz
# Left out, and found on that machine: glibc, the driver, NCCL, cuDNN, NVRTC.
#   tar xf FILE.tar.xz && evenpack-worker-bundle/tests/gpu/run.sh
# What must be built for it:
#   deploy/make_worker_bundle.sh --targets
set -euo pipefail

programs=(bin/evenpack-worker tests/gpu_check tests/attention_test tests/executor_test
  bench/attention_bench bench/gpu_attention_bench bench/gpu_ring_bench bench/ring_bench)
if [[ "$*" == --targets ]]; then
  printf '%s\n' "${programs[@]##*/}"
  exit 0
fi
if [[ $# -ne 2 || "$1" == -* || ! -d "$1" || "$2" != *.tar.xz ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$1"
archive="$2"
most_bytes=$((40 << 20))
# glibc's own, which belong to the machine's loader, and what comes with the driver, the
# toolkit or a wheel.
left_out='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl)\.so.*|lib(cuda|nccl|cudnn|nvrtc).*)$'

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
bundle="$folder/evenpack-worker-bundle"
mkdir -p "$bundle"/{bin,lib,libexec,deploy/data/lengths,tests/bench,tests/gpu}

for program in "${programs[@]}"; do
  [[ -x "$build/$program" ]] || {
    echo "make_worker_bundle.sh: $build/$program is missing; build it first" >&2
    exit 1
  }
  name="${program##*/}"
  strip --strip-all -o "$bundle/libexec/$name" "$build/$program"
  cat >"$bundle/bin/$name" <<'WRAPPER'
#!/bin/sh
program="$(readlink -f "$0")"
bundle="$(dirname "$(dirname "$program")")"
LD_LIBRARY_PATH="$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  exec "$bundle/libexec/$(basename "$program")" "$@"
WRAPPER
  chmod +x "$bundle/bin/$name"
  ldd "$build/$program" | awk '$2 == "=>" && $3 != "not" { print $1, $3 }'
done | sort -u | while read -r name path; do
  [[ "$name" =~ $left_out ]] || cp -L "$path" "$bundle/lib/$name"
done
strip --strip-unneeded "$bundle"/lib/*
cp "$root/tests/gpu/run.sh" "$bundle/tests/gpu/run.sh"
cp "$root"/tests/bench/gpu_attention_{cases,flash3,peers}.py "$bundle/tests/bench/"
cp "$root/deploy/data/lengths/wlbllm.txt" "$bundle/deploy/data/lengths/"
cp "$root/LICENSE" "$bundle/"

tar -C "$folder" --sort=name --owner=0 --group=0 -c evenpack-worker-bundle |
  xz -T0 >"$archive"
bytes="$(stat -c %s "$archive")"
echo "$archive: $bytes bytes"
if ((bytes > most_bytes)); then
  echo "make_worker_bundle.sh: more than $most_bytes bytes" >&2
  exit 1
fi
