#!/bin/bash
# Makes the demo's jobs at $EVENPACK_SERVER, where they aren't yet: "demo", in the shape of
# a 7B model at 128K over four GPUs, and "attention", small enough to be computed here.
set -euo pipefail

create() {
  evenpackctl jobs describe "$1" >/dev/null 2>&1 || evenpackctl jobs create "$@"
}

create demo --streams corpus --dp 2 --micro-batches 2 --cp 2 --model 7B \
  --window 131072 --max-length 196608 --split-overlong true --max-delay 64
create attention --streams corpus --cp 2 --window 512 --max-length 768
