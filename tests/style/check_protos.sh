#!/usr/bin/env bash
# buf's standard rules and its format hold for every proto.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
buf="$PWD/build-test-venv/bin/buf"
cd proto
"$buf" lint
"$buf" format --diff --exit-code
