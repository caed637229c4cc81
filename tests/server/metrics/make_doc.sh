#!/usr/bin/env bash
# Writes the tables of docs/metrics.md anew, from the headers that define the metrics.
#   tests/server/metrics/make_doc.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
cmake --preset gcc-test >/dev/null
cmake --build build-test-gcc --target write_metric_doc >/dev/null
build-test-gcc/bin/write_metric_doc docs/metrics.md
