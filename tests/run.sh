#!/usr/bin/env bash
# Installs what the tests need, builds with both compilers, and runs every test and
# check. The last line is `N passed, N failed`; the exit status is 1 if one failed.
#   tests/run.sh           everything
#   tests/run.sh --quick   the g++ build's tests and those of the Python package
set -uo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root" || exit 1
results="$root/build-test-results"
jobs="$(nproc)"
built=false
export PYTHONDONTWRITEBYTECODE=1

case "$*" in
  "") quick=false ;;
  --quick) quick=true ;;
  -h | --help)
    sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "run.sh: unknown argument '$*'; accepted: --quick, --help, or none" >&2
    exit 2
    ;;
esac

rm -rf "$results"
mkdir -p "$results"

record() {
  printf '%s\t%s\n' "$1" "$2" >>"$results/checks.tsv"
}

# How long a command took: seconds, and those of processors, which other work on the
# machine changes little.
TIMEFORMAT='%0R s, %0U + %0S s of CPU'

# Runs a command with its output in a log, which is shown if the command fails.
logged() {
  local name="$1" log="$results/${1// /_}.log" failed=0 took
  shift
  took="$({ time "$@" >"$log" 2>&1; } 2>&1)" || failed=1
  if [[ "$failed" == 0 ]]; then
    echo "ok      $name ($took)"
    return 0
  fi
  echo "FAILED  $name ($took)"
  tail -n 200 "$log"
  return 1
}

# A command that the tests need: counted only where it fails.
prepare() {
  logged "$@" || {
    record failed "$1"
    return 1
  }
}

# A command that is a test.
check() {
  if logged "$@"; then record passed "$1"; else record failed "$1"; fi
}

# Builds a preset in its tree.
build_tree() {
  local name="$1" preset="$2" tree="$3"
  prepare "configure $name" cmake --preset "$preset" || return
  prepare "build $name" cmake --build "$tree" --parallel "$jobs" -- -k 0
}

# Runs CTest in a tree. What hangs is ended, before the time of all is over.
test_tree() {
  local name="$1" tree="$2" took
  took="$({ time ctest --test-dir "$tree" -j "$jobs" --timeout 900 \
    --output-junit "$results/$name.xml" >"$results/$name.log" 2>&1; } 2>&1)"
  [[ -s "$results/$name.xml" ]] || {
    tail -n 50 "$results/$name.log"
    record failed "ctest $name"
  }
  tail -n +1 "$results/$name.log" | grep 'tests passed' | sed "s/^/$name: /"
  echo "done    $name ($took)"
}

# The Python package as its users get it, against the programs of the g++ tree.
test_python() {
  local here=tests/client/python out=build-test-python started=$SECONDS
  prepare "install Python libraries" "$here/install_libraries.sh" || return
  check "Python wheel" "$here/build_wheel.sh" "$out"
  [[ -x "$out/environment/bin/python" ]] || return
  EVENPACK_SERVER_PROGRAM="$root/build-test-gcc/bin/evenpack-server" \
    EVENPACK_WORKER_PROGRAM="$root/build-test-gcc/bin/evenpack-worker" \
    EVENPACKCTL="$root/build-test-gcc/bin/evenpackctl" \
    "$out/environment/bin/python" -m pytest "$here" --quiet \
    --junitxml "$results/python.xml" >"$results/python.log" 2>&1
  [[ -s "$results/python.xml" ]] || {
    tail -n 50 "$results/python.log"
    record failed "pytest"
  }
  tail -n 1 "$results/python.log" | sed 's/^/python: /'
  check "Python types" "$here/check_types.sh" "$out"
  echo "done    python ($((SECONDS - started)) s)"
}

# Each fuzz target for half a minute, two at a time; a check each.
check_fuzz() {
  local log="$results/fuzz.log" started=$SECONDS
  tests/fuzz/run.sh --seconds 30 --results "$results/checks.tsv" 2>&1 | tee "$log"
  grep -q 'fuzz ' "$results/checks.tsv" || record failed "fuzz"
  echo "done    fuzz ($((SECONDS - started)) s)"
}

check_tidy() {
  if prepare "configure clang-tidy" cmake --preset clang-tidy &&
    prepare "generate sources" cmake --build build-test-tidy \
      --target evenpack_generated; then
    check "clang-tidy" "$root/tests/style/check_clang_tidy.sh" build-test-tidy
  fi
}

check_by_clang() {
  check_tidy
  build_tree clang-sanitize clang-sanitize build-test-clang &&
    test_tree clang-sanitize build-test-clang
  build_tree clang-tsan clang-tsan build-test-tsan &&
    test_tree clang-tsan build-test-tsan
}

check_style() {
  local style="$root/tests/style"
  check "clang-format" "$style/check_format.sh"
  check "shell scripts" "$style/check_shell.sh"
  check "layout" python3 "$style/check_layout.py"
  check "layout self-test" python3 "$style/check_layout_test.py"
  check "links" python3 "$style/check_links.py"
  check "links self-test" python3 "$style/check_links_test.py"
  check "clang-tidy self-test" python3 "$style/clang_tidy_inputs_test.py"
  check "result count self-test" python3 "$root/tests/count_results_test.py"
  check "protos" "$style/check_protos.sh"
  check "ruff" "$style/check_python_style.sh"
  check "mypy" "$style/check_python_types.sh"
  local module=build-test-python/module
  if prepare "configure Python module" cmake -S client/python -B "$module" -G Ninja \
    -DPython_EXECUTABLE="$(tests/client/python/install_libraries.sh)/bin/python" \
    -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_EXPORT_COMPILE_COMMANDS=ON &&
    prepare "generate its sources" cmake --build "$module" --target evenpack_generated; then
    check "clang-tidy of Python module" "$style/check_clang_tidy.sh" "$module" \
      'client/python/bindings/*.cc'
  fi
}

if prepare "install packages" deploy/install_packages.sh build test &&
  prepare "install packages from PyPI" tests/install_python_packages.sh; then
  build_tree gcc gcc-test build-test-gcc && built=true
  # Beside the tests: many of them wait, and those of Python come one after another.
  if [[ "$quick" == false ]]; then
    (
      renice -n 10 "$BASHPID" >/dev/null || true
      check_by_clang
    ) &
  fi
  [[ "$built" == true ]] && test_tree gcc build-test-gcc
  test_python
  if [[ "$quick" == false ]]; then
    check_style
    check_fuzz
  fi
  wait
fi
echo "took $SECONDS s; logs in ${results#"$root"/}/"

if ! command -v python3 >/dev/null; then
  echo "FAILED python3 is missing, so the results can't be counted"
  echo "0 passed, 1 failed"
  exit 1
fi
python3 tests/count_results.py "$results"
