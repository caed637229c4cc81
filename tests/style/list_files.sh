#!/usr/bin/env bash
# Prints the repository's files that match the git pathspecs given, each ended by NUL:
# tracked ones, and new ones that are not ignored.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" |
  while IFS= read -r -d '' file; do
    # A deleted file stays listed until the deletion is committed.
    if [[ -f "$file" ]]; then printf '%s\0' "$file"; fi
  done
