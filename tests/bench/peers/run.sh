#!/usr/bin/env bash
# Installs other packers and sharders from PyPI and compares them with Evenpack on the
# same documents; docs/peers.md says what is measured and what came out.
#   tests/bench/peers/run.sh [--steps N] [--lengths FILE] [--json FILE] [--venv DIR]
# --steps: global batches at N = 4 (200), a fifth as many at N = 64. --lengths: one
# document length a line (deploy/data/lengths/wlbllm.txt). --venv: where the peers are
# installed (build-test-peers-venv/); about 6.5 GiB, since PyTorch brings its CUDA
# libraries along. What is there already is not installed again; a peer that can't be
# installed within 15 minutes is listed with the reason, and the others go on.
set -euo pipefail

steps=200 lengths="" json=() venv="" install_seconds=900
while (($# > 0)); do
  case "$1" in
    --steps | --lengths | --json | --venv)
      (($# > 1)) || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      case "$1" in
        --steps) steps="$2" ;;
        --lengths) lengths="$(realpath "$2")" ;;
        --json) json=(--json "$(realpath -m "$2")") ;;
        --venv) venv="$(realpath -m "$2")" ;;
      esac
      shift
      ;;
    *)
      sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
      [[ "$1" == -h || "$1" == --help ]] && exit 0
      exit 2
      ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
here=tests/bench/peers
: "${venv:=$PWD/build-test-peers-venv}" "${lengths:=$PWD/deploy/data/lengths/wlbllm.txt}"
build="build-test-gcc"
{
  [[ -f "$build/build.ninja" ]] || cmake --preset gcc-test
  cmake --build "$build" --target evenpackctl
} >&2

[[ -x "$venv/bin/pip" ]] || python3 -m venv "$venv"
mkdir -p "$venv/peers"
failed="$venv/peers/failed.tsv"
: >"$failed"

# Packages of one peer; the reason of a failure is pip's last error.
pip_install() {
  timeout "$install_seconds" "$venv/bin/pip" install --quiet --no-cache-dir \
    --disable-pip-version-check "$@" >"$venv/peers/log" 2>&1
}

while IFS=: read -r peer packages; do
  [[ -z "$peer" || "$peer" == \#* ]] && continue
  stamp="$venv/peers/$peer"
  [[ -f "$stamp" && "$(<"$stamp")" == "$packages" ]] && continue
  echo "installing $peer:$packages" >&2
  read -ra with_needs <<<"${packages%%|*}"
  alone=()
  [[ "$packages" == *"|"* ]] && read -ra alone <<<"${packages#*|}"
  if { ((${#with_needs[@]} == 0)) || pip_install "${with_needs[@]}"; } &&
    { ((${#alone[@]} == 0)) || pip_install --no-deps "${alone[@]}"; }; then
    printf '%s' "$packages" >"$stamp"
  else
    status=$?
    reason="$(grep -i '^ERROR' "$venv/peers/log" | tail -n 1 || true)"
    printf '%s\tnot installed: %s (status %d)\n' "$peer" "${reason:-no message}" \
      "$status" >>"$failed"
  fi
done <"$here/packages.txt"

PYTHONPATH="tests/bench:$here" python3 -B "$here/compare_peers.py" \
  --python "$venv/bin/python" --evenpackctl "$build/bin/evenpackctl" \
  --lengths "$lengths" --steps "$steps" --failed "$failed" "${json[@]}"
