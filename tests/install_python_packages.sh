#!/usr/bin/env bash
# Installs the pinned packages of the checks and tests from PyPI, where they aren't yet:
# Python's into build-test-venv/, and cuDNN's frontend into build-test-cudnn/, of which
# the worker is compiled with the headers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=build-test-venv
requirements=tests/python_requirements.txt
if ! cmp -s "$requirements" "$venv/installed.txt"; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$venv/installed.txt"
fi

# Without what its Python needs, which is some gigabytes.
frontend=nvidia-cudnn-frontend==1.32.0
cudnn=build-test-cudnn
if [[ "$(cat "$cudnn/installed.txt" 2>/dev/null)" != "$frontend" ]]; then
  rm -rf "$cudnn"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    --target "$cudnn" "$frontend"
  echo "$frontend" >"$cudnn/installed.txt"
fi
