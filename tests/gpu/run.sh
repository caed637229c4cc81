#!/usr/bin/env bash
# Runs the worker's checks and benches on this machine, those that need a GPU too, and
# prints one table of them. The last line is `N passed, N failed, N skipped`; the exit
# status is 1 if one failed.
#   tests/gpu/run.sh [--gpu-only]
# in a bundle (deploy/make_worker_bundle.sh), or in a checkout with build-test-gcc/.
# --gpu-only: nothing that needs no GPU.
# NCCL and cuDNN are looked for as the loader does, then in Python's packages;
# EVENPACK_NCCL and EVENPACK_CUDNN name others.
set -uo pipefail

case "$*" in
  "") everything=true ;;
  --gpu-only) everything=false ;;
  *)
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT
passed=0 failed=0 skipped=0
# Seconds that a check may take.
most=600

program() {
  local folder
  for folder in "$root/bin" "$root"/build-test-gcc/{bin,tests,bench}; do
    if [[ -x "$folder/$1" ]]; then
      echo "$folder/$1"
      return
    fi
  done
  echo "run.sh: $1 is missing below $root" >&2
  exit 1
}

row() {
  printf '%-8s %-58s %10s  %s\n' "$@"
}

# The cases of a GoogleTest program, a row each, in a process of their own: where a device
# fails, all that its process does from then on fails.
cases() {
  local name="$1" line seen=0
  shift
  timeout "$most" "$(program "$name")" --gtest_print_time=1 "$@" >"$results/log" 2>&1
  local status=$?
  while read -r line; do
    [[ "$line" =~ ^\[\ *(OK|SKIPPED|FAILED)\ *\]\ ([A-Za-z0-9_./]+).*\(([0-9]+)\ ms\)$ ]] || continue
    seen=$((seen + 1))
    case "${BASH_REMATCH[1]}" in
      OK) passed=$((passed + 1)) verdict=passed ;;
      SKIPPED) skipped=$((skipped + 1)) verdict=skipped ;;
      FAILED) failed=$((failed + 1)) verdict=FAILED ;;
    esac
    row "$verdict" "$name ${BASH_REMATCH[2]}" "${BASH_REMATCH[3]} ms" ""
  done <"$results/log"
  if ((status != 0)) && ! grep -q '^\[  FAILED  \]' "$results/log" || ((seen == 0)); then
    failed=$((failed + 1))
    row FAILED "$name" "" "exit status $status"
  fi
  # The first errors say most.
  grep -A 12 -m 3 ': Failure' "$results/log"
}

# ended TITLE STARTED STATUS: the row of a program whose exit status says whether it
# passed; its last line is shown.
ended() {
  local verdict=passed
  if (($3 == 0)); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)) verdict=FAILED
  fi
  row "$verdict" "$1" "$((SECONDS - $2)) s" "$(tail -n 1 "$results/log")"
}

command_row() {
  local title="$1" started=$SECONDS
  shift
  timeout "$most" "$@" >"$results/log" 2>&1
  ended "$title" "$started" $?
}

# One whose figures are shown, above its row.
bench_row() {
  local title="$1" started=$SECONDS
  shift
  echo
  timeout "$most" "$@" 2>"$results/log"
  ended "$title" "$started" $?
}

skip_rows() {
  local why="$1" title
  shift
  for title in "$@"; do
    skipped=$((skipped + 1))
    row skipped "$title" "" "$why"
  done
}

# Where Python has NVIDIA's libraries, a folder for each.
wheels="$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)"
# library NAME FILE VARIABLE
library() {
  [[ -z "${!3:-}" && -e "$wheels/$1/lib/$2" ]] || return
  ldconfig -p 2>/dev/null | grep -q "$2" || export "$3=$wheels/$1/lib/$2"
}
library nccl libnccl.so.2 EVENPACK_NCCL
library cudnn libcudnn.so.9 EVENPACK_CUDNN
# cuDNN loads its parts, and the compiler of its kernels, by their names.
if [[ -n "${EVENPACK_CUDNN:-}" ]]; then
  loaded="$(dirname "$EVENPACK_CUDNN")"
  for folder in "$wheels"/cu1?/lib "$wheels/cuda_nvrtc/lib" /usr/local/cuda/lib64; do
    [[ -d "$folder" ]] && loaded+=":$folder"
  done
  export LD_LIBRARY_PATH="$loaded${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

echo "machine: $(uname -m), $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
echo "devices: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | paste -sd ';' || true)"
echo "NCCL:    ${EVENPACK_NCCL:-where the loader finds it}"
echo "cuDNN:   ${EVENPACK_CUDNN:-where the loader finds it}"
row result check took detail
cases gpu_check --gtest_filter='-AttentionGpuCheck.*'
cases gpu_check --gtest_filter='AttentionGpuCheck.*'
has_device=false
nvidia-smi >/dev/null 2>&1 && has_device=true
if [[ "$has_device" == true ]]; then
  command_row "evenpack-worker --selftest --device cuda" \
    "$(program evenpack-worker)" --selftest --device cuda --cases 15 --max-ranks 3
  command_row "gpu_ring_bench" "$(program gpu_ring_bench)"
else
  skip_rows "no device" "evenpack-worker --selftest --device cuda" gpu_ring_bench \
    gpu_attention_bench gpu_attention_peers.py gpu_attention_flash3.py
fi
if [[ "$everything" == true ]]; then
  cases attention_test
  cases executor_test --gtest_filter='-*Gloo*'
  command_row "evenpack-worker --selftest" \
    "$(program evenpack-worker)" --selftest --cases 100
  command_row "ring_bench" "$(program ring_bench)" 20000
  bench_row attention_bench "$(program attention_bench)" --benchmark_min_time=0.2
fi
# peer PACKAGE SCRIPT, on the slices of gpu_attention_bench.
peer() {
  if python3 -c "import $1" 2>/dev/null; then
    bench_row "$2" python3 "$root/tests/bench/$2" "$results/slices"
  else
    skip_rows "Python has no $1" "$2"
  fi
}
if [[ "$has_device" == true ]]; then
  bench_row gpu_attention_bench "$(program gpu_attention_bench)" \
    "$root/deploy/data/lengths/wlbllm.txt" "$results/slices"
  peer torch gpu_attention_peers.py
  peer flash_attn3_jax gpu_attention_flash3.py
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
