#!/usr/bin/env bash
# Measures the policy `balanced`, and writes the tables of docs/balance.md and
# docs/images/balance*.svg anew.
#   tests/bench/balance/run.sh [BUILD] [STUDY ...]    build-test-gcc, all studies
# About fifteen minutes on two cores. BUILD is configured (cmake --preset gcc-test); what is
# run is built there. build-balance/results.json keeps the figures, so that one study
# can be measured anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
here=tests/bench/balance
build="${1:-build-test-gcc}"
folder="build-balance"
cmake --build "$build" --target evenpackctl offline_reference >&2
mkdir -p "$folder"
python3 -B "$here/measure_balance.py" "$build" "$folder/results.json" "${@:2}"
python3 -B "$here/render_page.py" "$folder/results.json" docs/balance.md docs/images
