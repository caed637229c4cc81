#!/usr/bin/env bash
# Builds the fuzz targets (preset clang-fuzz) and runs each on a copy of its corpus, two
# at a time. One line for each: executions, coverage, ok or FAILED; the exit status is 1
# if one failed. A crash's input is in build-test-fuzz/artifacts, what was found on the
# way in build-test-fuzz/corpus.
#   tests/fuzz/run.sh [--seconds N] [--results FILE] [TARGET...]
# N: seconds for each target, 30 if not given. FILE: gets `passed|failed TAB fuzz TARGET`
# for each. TARGET: state, request, ...; all if none is given.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tree="$PWD/build-test-fuzz"
seconds=30
results=/dev/null
targets=()

fail() {
  echo "run.sh: $1" >&2
  exit 2
}

while [[ $# -gt 0 ]]; do
  case "$1" in
    --seconds | --results)
      [[ $# -ge 2 ]] || fail "$1 needs a value"
      if [[ "$1" == --seconds ]]; then seconds="$2"; else results="$2"; fi
      shift 2
      ;;
    -h | --help)
      sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*) fail "unknown argument '$1'; accepted: --seconds, --results, --help, targets" ;;
    *)
      [[ -d "tests/fuzz/corpus/$1" ]] || fail "target '$1' has no tests/fuzz/corpus/$1"
      targets+=("$1")
      shift
      ;;
  esac
done
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || fail "--seconds: '$seconds'; accepted: 1 or more"
if [[ ${#targets[@]} == 0 ]]; then
  for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi

build() {
  mkdir -p "$tree"
  { cmake --preset clang-fuzz && nice cmake --build --preset clang-fuzz; } \
    >"$tree/build.log" 2>&1 && return
  tail -n 50 "$tree/build.log"
  printf 'failed\tfuzz build\n' >>"$results"
  echo "FAILED  build"
  exit 1
}

# The last number behind a word of libFuzzer's log.
last_of() {
  grep -oE "\b$1: *[0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

# A seed of its own for each run, and in the log, so that a run can be repeated.
run_target() {
  local target="$1" log="$tree/logs/$1.log" seed=$((RANDOM * 32768 + RANDOM + 1))
  local corpus="$tree/corpus/$1" verdict=ok outcome=passed
  rm -rf "$corpus"
  mkdir -p "$corpus"
  cp "tests/fuzz/corpus/$target/"* "$corpus/"
  "$tree/fuzz/$target" "$corpus" -seed="$seed" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$tree/artifacts/$target-" >"$log" 2>&1 || {
    verdict=FAILED
    outcome=failed
  }
  printf '%s\tfuzz %s\n' "$outcome" "$target" >>"$results"
  printf '%-7s %-8s %9s executions, coverage %5s, features %6s (-seed=%s)\n' \
    "$verdict" "$target" "$(last_of stat::number_of_executed_units "$log")" \
    "$(last_of cov "$log")" "$(last_of ft "$log")" "$seed"
  [[ "$verdict" == ok ]] && return
  grep -E 'BROKEN|ERROR:|SUMMARY|runtime error|Test unit written' "$log"
  return 1
}

build
mkdir -p "$tree/artifacts" "$tree/logs"
status=0
running=0
for target in "${targets[@]}"; do
  if ((running == 2)); then
    wait -n || status=1
    running=$((running - 1))
  fi
  run_target "$target" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || status=1
  running=$((running - 1))
done
exit "$status"
