#!/usr/bin/env bash
# Draws docs/images/run-overview.png, which docs/dashboards.md shows, of a run of 90 s.
#   tests/deploy/grafana/draw_run_overview.sh [BIN]    build/bin, with evenpack-server
# Needs prometheus, and build-test-venv as the tests make it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
server="${1:-build/bin}/evenpack-server"
# What draws the other pictures, by the same requirements.
venv=build-reproduction-venv
stubs=build-reproduction-venv/stubs
[[ -x "$server" ]] || {
  echo "draw_run_overview.sh: $server is not there; build it, or name its folder" >&2
  exit 2
}

if [[ ! -x "$venv/bin/python" ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --requirement tests/bench/reproduction/requirements.txt
fi
tests/integration/generate_stubs.sh build-test-venv/bin/python "$stubs"
EVENPACK_SOURCE_DIR="$PWD" EVENPACK_SERVER_PROGRAM="$server" \
  PYTHONPATH="$stubs:tests/integration:tests/testing:tests/deploy/prometheus" \
  build-test-venv/bin/python -B tests/deploy/grafana/run_overview.py \
  "$venv/bin/python" docs/images/run-overview.png
