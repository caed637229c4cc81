#!/usr/bin/env bash
# Builds Evenpack and compares the packing policies on real document lengths.
set -euo pipefail

usage() {
  cat <<'EOF'
Usage: deploy/quickstart.sh [DIRECTORY_OF_TEXT_FILES] [FLAGS OF evenpackctl compare]

Installs the packages of the build, builds into build/ and runs `evenpackctl compare`:
on the document lengths in deploy/data/lengths/wlbllm.txt, or on those of the text
files under DIRECTORY_OF_TEXT_FILES. There each file is one document, its length is
its size in bytes (one token a byte), and the order is that of the sorted paths.

Flags given here replace the defaults, for example: deploy/quickstart.sh --window 65536
The defaults:
  --micro-batches 4 --window 131072 --max-length 196608
  --queue-thresholds 49152,98304 --crossover 47000
The longest micro-batch and the thresholds follow the window: 3/2, 3/8 and 3/4 of it.
Documents longer than the window bring --split-overlong true.
EOF
}

fail() {
  echo "quickstart.sh: $1" >&2
  exit 2
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$root/build"
directory=""
user_flags=()

read_arguments() {
  local argument
  for argument in "$@"; do
    if [[ "$argument" == -h || "$argument" == --help ]]; then
      usage
      exit 0
    fi
  done
  if [[ $# -gt 0 && "$1" != -* ]]; then
    directory="$1"
    shift
    [[ -d "$directory" ]] ||
      fail "'$directory' is not a directory; name one that holds text files"
  fi
  user_flags=("$@")
}

user_gives() {
  local flag
  for flag in "${user_flags[@]}"; do
    [[ "$flag" == "$1" || "$flag" == "$1="* ]] && return 0
  done
  return 1
}

# The user's value of a flag, or else the default.
value_of() {
  local flag="$1" value="$2" i
  for ((i = 0; i < ${#user_flags[@]}; ++i)); do
    case "${user_flags[i]}" in
      "$flag") value="${user_flags[i + 1]:-$value}" ;;
      "$flag="*) value="${user_flags[i]#*=}" ;;
    esac
  done
  echo "$value"
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

# Fills `flags` with the defaults that the user did not replace. The limits keep their
# proportion to the window.
choose_flags() {
  local lengths="$1" window longest
  window="$(value_of --window 131072)"
  # evenpackctl says what is wrong with it.
  [[ "$window" =~ ^[1-9][0-9]{0,9}$ ]] || window=131072
  add_default --lengths "$lengths"
  add_default --micro-batches 4
  add_default --window "$window"
  add_default --max-length "$((window * 3 / 2))"
  add_default --queue-thresholds "$((window * 3 / 8)),$((window * 3 / 4))"
  # A model and its hardware take the place of a crossover.
  user_gives --model || add_default --crossover 47000
  longest="$(LC_ALL=C sort -n "$lengths" | tail -n 1)"
  if [[ "$longest" -gt "$window" ]]; then
    add_default --split-overlong true
  fi
}

read_arguments "$@"
export CCACHE_DISABLE=1 # a cache would be written outside build/
started=$SECONDS
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

lengths="$root/deploy/data/lengths/wlbllm.txt"
if [[ -n "$directory" ]]; then
  lengths="$scratch/lengths.txt"
  write_lengths "$lengths"
fi
flags=()
choose_flags "$lengths"

"$root/deploy/install_packages.sh" build
(cd "$root" && cmake --preset release >"$scratch/configure.log" 2>&1) || {
  cat "$scratch/configure.log" >&2
  fail "cmake could not configure $build; removing that folder gives a fresh start"
}
cmake --build "$build" --parallel "$(nproc)"
"$build/bin/evenpackctl" compare "${flags[@]}" "${user_flags[@]}"
echo "Done in $((SECONDS - started)) s. Programs: $build/bin"
