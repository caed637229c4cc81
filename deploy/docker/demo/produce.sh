#!/bin/bash
# Sends the job $JOB at $EVENPACK_SERVER real lengths of documents, without end: each
# divided by $DIVIDE, $RATE of them a second. Started again, it goes on where it was.
set -euo pipefail

lengths="${LENGTHS:-/usr/local/share/evenpack/lengths.txt}"
sequence="$(evenpackctl jobs describe "$JOB" --json |
  sed -n 's/.*"next_sequence": \([0-9]*\).*/\1/p')"
# The program in place of this shell, so that it is told to end.
exec evenpackctl ingest --job "$JOB" --stream corpus --from-sequence "$sequence" \
  --lengths - < <(awk -v next_one="$sequence" -v rate="$RATE" -v divide="$DIVIDE" '
    { tokens[NR - 1] = int(($1 + divide - 1) / divide) }
    END {
      for (i = next_one;; ++i) {
        print tokens[i % NR]
        if (i % rate == rate - 1) { fflush(); system("sleep 1") }
      }
    }' "$lengths")
