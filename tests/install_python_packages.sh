#!/usr/bin/env bash
# Installs the pinned Python packages of the checks and tests from PyPI into
# build-test-venv/, where they aren't yet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=build-test-venv
requirements=tests/python_requirements.txt
if cmp -s "$requirements" "$venv/installed.txt"; then exit 0; fi
python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
cp "$requirements" "$venv/installed.txt"
