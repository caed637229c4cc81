#!/usr/bin/env bash
# Checks the shell scripts: *.sh and files whose first line names bash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scripts=()
while IFS= read -r -d '' file; do
  first_line=""
  IFS= read -r first_line <"$file" 2>/dev/null || true
  if [[ "$file" == *.sh || "$first_line" =~ ^'#!'.*bash ]]; then scripts+=("$file"); fi
done < <(tests/style/list_files.sh '*.sh' '.ci/*')
[[ ${#scripts[@]} -gt 0 ]] || { echo "found no script" >&2; exit 1; }
for script in "${scripts[@]}"; do
  bash -n "$script"
  [[ -x "$script" ]] || { echo "$script is not executable" >&2; exit 1; }
done
shellcheck "${scripts[@]}"
echo "${#scripts[@]} scripts"
