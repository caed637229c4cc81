#!/usr/bin/env bash
# Installs the pinned libraries of requirements*.txt (several GB) into a folder of the
# user's cache, where they aren't yet, and prints that folder: a Python environment.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
key="$({ python3 --version && cat "$here"/requirements*.txt; } | sha256sum | cut -c -16)"
environment="${XDG_CACHE_HOME:-$HOME/.cache}/evenpack/python-$key"
if [[ ! -e "$environment/complete" ]]; then
  python3 -m venv --clear "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check \
    -r "$here/requirements.txt" >&2
  "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    -r "$here/requirements_alone.txt" >&2
  touch "$environment/complete"
fi
echo "$environment"
