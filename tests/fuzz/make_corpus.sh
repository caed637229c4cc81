#!/usr/bin/env bash
# Makes tests/fuzz/corpus anew: the seeds of make_seeds, and of what the last run.sh found
# (build-test-fuzz/corpus) small inputs that reach more. After a change of a format, run
# it once for the seeds, then run.sh, then it again. What is kept is before-VERSION-NAME:
# what a version before wrote, as long as it is read.
#   tests/fuzz/make_corpus.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tree="$PWD/build-test-fuzz"
kept=tests/fuzz/corpus
most_found=12
most_bytes=1000

cmake --preset clang-fuzz >/dev/null
cmake --build "$tree" --target make_seeds fuzz >/dev/null
find "$kept" -type f ! -name 'before-*' -delete
"$tree/bin/make_seeds" deploy/data/lengths/wlbllm.txt "$kept"

# Copies to the corpus $1 some of what was found that adds coverage to its seeds: of the
# small ones the largest, which reach most.
keep_found() {
  local target="$1" found
  found="$(mktemp -d)"
  find "$tree/corpus/$target" -type f ! -name 'seed-*' ! -name 'before-*' \
    -size -"$((most_bytes + 1))c" -exec cp -t "$found" {} +
  mkdir "$found.kept"
  cp "$kept/$target/"* "$found.kept/"
  "$tree/fuzz/$target" -merge=1 "$found.kept" "$found" >/dev/null 2>&1
  find "$found.kept" -type f ! -name 'seed-*' ! -name 'before-*' -printf '%s %p\n' |
    sort -rn |
    awk -v most="$most_found" 'NR <= most { print $2 }' | xargs -r cp -t "$kept/$target"
  rm -rf "$found" "$found.kept"
}

for folder in "$kept"/*/; do
  target="$(basename "$folder")"
  if [[ -d "$tree/corpus/$target" ]]; then keep_found "$target"; fi
done
du -sb "$kept"/* "$kept"
