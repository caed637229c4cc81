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

Flags given here replace the defaults of `evenpackctl compare --help`, for example:
deploy/quickstart.sh --window 65536. Documents longer than the longest micro-batch are
cut, unless --split-overlong false is given.
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
add_default --lengths "$lengths"
add_default --split-overlong true

"$root/deploy/install_packages.sh" build
(cd "$root" && cmake --preset release >"$scratch/configure.log" 2>&1) || {
  cat "$scratch/configure.log" >&2
  fail "cmake could not configure $build; removing that folder gives a fresh start"
}
cmake --build "$build" --parallel "$(nproc)"
"$build/bin/evenpackctl" compare "${flags[@]}" "${user_flags[@]}"
echo "Done in $((SECONDS - started)) s. Programs: $build/bin"
