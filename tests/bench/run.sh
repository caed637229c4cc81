#!/usr/bin/env bash
# Runs the benchmarks of the core, the service and the store, and prints one table of
# them and the growth of each family (tests/bench/bench_report.py).
#   tests/bench/run.sh [--quick] [--json FILE]
# --quick: each case once and briefly, about two minutes; for a look, not for figures.
# Builds what it runs in build-test-gcc/ (cmake --preset gcc-test). Progress goes to
# standard error.
set -euo pipefail

quick=false
json=()
while (($# > 0)); do
  case "$1" in
    --quick) quick=true ;;
    --json)
      (($# > 1)) || { echo "run.sh: --json needs a file" >&2; exit 2; }
      json=(--json "$(realpath -m "$2")")
      shift
      ;;
    *)
      sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
      [[ "$1" == -h || "$1" == --help ]] && exit 0
      exit 2
      ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="build-test-gcc"
results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT

{
  [[ -f "$build/build.ninja" ]] || cmake --preset gcc-test
  cmake --build "$build" --target packing_bench placement_bench engine_bench \
    sharding_bench commit_bench service_bench process_bench
} >&2

if [[ "$quick" == true ]]; then
  google=(--benchmark_min_time=0.01)
  runs=1 subscribers=(1 64) cold=256 seconds=3
else
  google=(--benchmark_min_time=0.3 --benchmark_repetitions=3)
  runs=5 subscribers=(1 16 256 1024) cold=8192 seconds=20
fi

# Runs a program with its output in a file that the report reads.
files=()
measure() {
  local file="$results/$1" started=$SECONDS
  shift
  "$@" >>"$file"
  [[ " ${files[*]-} " == *" $file "* ]] || files+=("$file")
  echo "$* ($((SECONDS - started)) s)" >&2
}

for bench in packing placement engine sharding commit; do
  measure "$bench" "$build/bench/${bench}_bench" --benchmark_format=json "${google[@]}"
done
for count in 2 4 16; do
  measure service "$build/bench/service_bench" ingest 64 "$runs" "$count"
done
for count in "${subscribers[@]}"; do
  measure service "$build/bench/service_bench" fanout "$count"
done
measure service "$build/bench/service_bench" store "$results/store.db" "$runs"
server="$build/bin/evenpack-server"
measure service "$build/bench/process_bench" cold "$server" "$cold"
measure service "$build/bench/process_bench" load "$server" 400 "$seconds"

python3 tests/bench/bench_report.py "${json[@]}" "${files[@]}"
