#!/usr/bin/env bash
# Simulates the paper's tables on the given lengths and draws docs/images/*.png, which
# docs/reproduction.md shows.
#   tests/bench/reproduction/run.sh [EVENPACKCTL]    build/bin/evenpackctl
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
program="${1:-build/bin/evenpackctl}"
venv=build-reproduction-venv
results=build-reproduction
[[ -x "$program" ]] || {
  echo "run.sh: $program is not there; build it, or name the program" >&2
  exit 2
}

if [[ ! -x "$venv/bin/python" ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --requirement tests/bench/reproduction/requirements.txt
fi
mkdir -p "$results"
for table in paper window-sweep breakdown packing-table cp-figure; do
  "$program" simulate --config "$table" --lengths deploy/data/lengths/wlbllm.txt --json \
    >"$results/$table.json"
done
"$venv/bin/python" -B tests/bench/reproduction/draw.py "$results" docs/images
