#!/bin/bash
# Follows DP rank $DP_RANK of the job $JOB at $EVENPACK_SERVER as a trainer would that takes
# $STEP_SECONDS for a step, and prints a line for each.
set -euo pipefail

# The program in place of this shell, so that it is told to end.
exec evenpackctl follow --job "$JOB" --dp-rank "$DP_RANK" --ack durable --json \
  --subscriber "follower-$DP_RANK" > >(
  while read -r step; do
    echo "rank $DP_RANK: ${step:0:100}"
    sleep "$STEP_SECONDS"
  done
)
