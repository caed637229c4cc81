#!/usr/bin/env bash
# Builds Evenpack, streams real document lengths through a server to two trainer ranks,
# and compares the packing policies on them.
set -euo pipefail

usage() {
  cat <<'EOT'
Usage: deploy/quickstart.sh [--keep] [DIRECTORY_OF_TEXT_FILES] [FLAGS OF evenpackctl compare]

Installs the packages of the build, builds into build/, and then
  1. starts evenpack-server on free ports of this machine,
  2. creates a job in the shape of 7B at 128K: two data-parallel ranks of two
     micro-batches each, two context-parallel ranks,
  3. streams document lengths in from one process while two others follow the two ranks,
  4. shows what came out and what /metrics says, and stops the server,
  5. runs `evenpackctl compare` on the same lengths.

The lengths are those in deploy/data/lengths/wlbllm.txt, or those of the text files under
DIRECTORY_OF_TEXT_FILES. There each file is one document, its length is its size in bytes
(one token a byte), and the order is that of the sorted paths.

--keep leaves the server running, to look at its page and metrics, until Ctrl-C.

Flags of compare given here replace its defaults (`evenpackctl compare --help`), for
example: deploy/quickstart.sh --window 65536. Documents longer than the longest
micro-batch are cut, unless --split-overlong false is given.
EOT
}

fail() {
  echo "quickstart.sh: $1" >&2
  exit "${2:-2}"
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$root/build"
directory=""
keep=false
user_flags=()

# Sets `pattern`, which any value of flag $1 of compare matches, and `accepted`, its name.
find_kind() {
  case "$1" in
    --lengths | --idx | --model | --hardware) pattern='.+' accepted="a name" ;;
    --micro-batches | --window | --max-length | --window-batches | --max-delay | --tp | \
      --cp | --repeat | --seed | --steps)
      pattern='[0-9]+' accepted="a whole number"
      ;;
    --backlog-limit | --crossover | --ns-per-token)
      pattern='[-+.0-9eE]+' accepted="a number"
      ;;
    --queue-thresholds)
      pattern='[0-9]+(,[0-9]+)*' accepted="whole numbers with commas between them"
      ;;
    --split-documents | --split-overlong) pattern='true|false' accepted="true, false" ;;
    --keep) fail "--keep comes before all else" ;;
    *) fail "'$1' is not accepted; accepted: the flags of evenpackctl compare (see --help)" ;;
  esac
}

# Of what compare would refuse, once it is built, that which can be told before: its range
# of a number can't.
check_flags() {
  local flag value pattern accepted
  while [[ $# -gt 0 ]]; do
    if [[ "$1" == --json ]]; then
      shift
      continue
    fi
    flag="${1%%=*}"
    find_kind "$flag"
    if [[ "$1" == *=* ]]; then
      value="${1#*=}"
    else
      [[ $# -gt 1 ]] || fail "$flag has no value; accepted: $accepted"
      value="$2"
      shift
    fi
    [[ "$value" =~ ^($pattern)$ ]] ||
      fail "$flag: '$value' is not accepted; accepted: $accepted"
    shift
  done
}

read_arguments() {
  local argument
  for argument in "$@"; do
    if [[ "$argument" == -h || "$argument" == --help ]]; then
      usage
      exit 0
    fi
  done
  if [[ "${1:-}" == --keep ]]; then
    keep=true
    shift
  fi
  if [[ $# -gt 0 && "$1" != -* ]]; then
    directory="$1"
    shift
    [[ -d "$directory" ]] ||
      fail "'$directory' is not a directory; name one that holds text files"
  fi
  user_flags=("$@")
  check_flags "$@"
}

user_gives() {
  local flag
  for flag in "${user_flags[@]}"; do
    [[ "$flag" == "$1" || "$flag" == "$1="* ]] && return 0
  done
  return 1
}

# The sizes of the text files under $1, one a line, in the order of their paths.
lengths_of_text_files() {
  # A file with a NUL byte counts as binary.
  find "$1" -type f -size +0 -print0 | LC_ALL=C sort -z |
    { LC_ALL=C xargs -0 -r grep -IlZ -e '' -- || true; } |
    xargs -0 -r stat -c %s --
}

write_lengths() {
  local file="$1" taken empty seen
  lengths_of_text_files "$directory" >"$file"
  taken="$(wc -l <"$file")"
  empty="$(find "$directory" -type f -empty -printf x | wc -c)"
  seen="$(find "$directory" -type f -printf x | wc -c)"
  [[ "$taken" -gt 0 ]] ||
    fail "'$directory' holds no text file that is not empty ($seen files seen)"
  echo "$taken text files; skipped: $empty empty, $((seen - empty - taken)) not text"
}

add_default() {
  user_gives "$1" || flags+=("$1" "$2")
}

# The address that the server printed for $1, once it has.
address_of() {
  local kind="$1" address
  for _ in $(seq 200); do
    address="$(sed -n "s/^$kind listening on //p" "$scratch/server.out")"
    if [[ -n "$address" ]]; then
      echo "$address"
      return
    fi
    kill -0 "$server_process" 2>/dev/null || break
    sleep 0.05
  done
  cat "$scratch/server.err" >&2
  fail "evenpack-server did not start" 1
}

start_server() {
  "$build/bin/evenpack-server" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 \
    --store "sqlite:$scratch/store" \
    >"$scratch/server.out" 2>"$scratch/server.err" &
  server_process=$!
  server="$(address_of grpc)"
  metrics="http://$(address_of http)/metrics"
  echo "Server on $server, metrics on $metrics"
}

stop_server() {
  [[ -n "$server_process" ]] || return 0
  kill -TERM "$server_process" 2>/dev/null || true
  wait "$server_process" || true
  server_process=""
}

online() {
  "$build/bin/evenpackctl" "$@" --server "$server"
}

# Follows DP rank $1 to the job's end, in the place of the shell that it is called in.
follow() {
  exec "$build/bin/evenpackctl" follow --job quickstart --dp-rank "$1" --cp-rank 0 \
    --ack durable --json --server "$server" >"$scratch/rank$1.jsonl"
}

# "N steps, M documents, T tokens" of a rank's file.
received() {
  python3 - "$1" <<'EOT'
import json
import sys

steps = documents = tokens = 0
with open(sys.argv[1]) as lines:
    for line in lines:
        steps += 1
        for micro_batch in json.loads(line)["micro_batches"]:
            tokens += micro_batch["tokens"]
            documents += sum(d["offset"] == 0 for d in micro_batch["documents"])
print(f"{steps:,} steps, {documents:,} documents, {tokens:,} tokens")
EOT
}

show_metrics() {
  python3 - "$metrics" <<'EOT'
import sys
import urllib.request

wanted = (
    "evenpack_job_documents_emitted_total",
    "evenpack_job_step_max_workload_seconds_total",
    "evenpack_job_step_mean_workload_seconds_total",
    "evenpack_job_subscribers",
)
with urllib.request.urlopen(sys.argv[1], timeout=10) as page:
    lines = page.read().decode().splitlines()
for line in lines:
    if line.startswith(wanted):
        print(f"  {line}")
EOT
}

run_job() {
  start_server
  online jobs create quickstart --streams corpus --dp 2 --micro-batches 2 --cp 2 \
    --model 7B --window 131072 --max-length 196608 --split-overlong true
  follow 0 &
  local first=$!
  follow 1 &
  local second=$!
  followers=("$first" "$second")
  online ingest --job quickstart --stream corpus --lengths "$lengths" --end-of-stream
  wait "$first" || fail "the follower of rank 0 failed" 1
  wait "$second" || fail "the follower of rank 1 failed" 1
  followers=()
  echo "Rank 0 received $(received "$scratch/rank0.jsonl")"
  echo "Rank 1 received $(received "$scratch/rank1.jsonl")"
  online jobs describe quickstart
  echo "From $metrics:"
  show_metrics
}

clean_up() {
  # Ctrl-C is ignored by what runs in the background.
  ((${#followers[@]} == 0)) || kill -TERM "${followers[@]}" 2>/dev/null || true
  stop_server
  rm -rf "$scratch"
}

read_arguments "$@"
export CCACHE_DISABLE=1 # a cache would be written outside build/
started=$SECONDS
scratch="$(mktemp -d)"
server_process=""
followers=()
trap clean_up EXIT

lengths="$root/deploy/data/lengths/wlbllm.txt"
if [[ -n "$directory" ]]; then
  lengths="$scratch/lengths.txt"
  write_lengths "$lengths"
fi
flags=()
user_gives --idx || add_default --lengths "$lengths"
add_default --split-overlong true

"$root/deploy/install_packages.sh" build
(cd "$root" && cmake --preset release >"$scratch/configure.log" 2>&1) || {
  cat "$scratch/configure.log" >&2
  fail "cmake could not configure $build; removing that folder gives a fresh start"
}
cmake --build "$build" --parallel "$(nproc)"
run_job
[[ "$keep" == true ]] || stop_server
"$build/bin/evenpackctl" compare "${flags[@]}" "${user_flags[@]}"
echo "Done in $((SECONDS - started)) s. Programs: $build/bin"
if [[ "$keep" == true ]]; then
  echo "The server goes on: $server, $metrics; its page: ${metrics%metrics}. Ctrl-C stops it."
  wait "$server_process"
fi
