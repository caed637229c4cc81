#!/usr/bin/env bash
# Installs the pinned packages of the checks and tests from PyPI, where they aren't yet:
# Python's into build-test-venv/, and cuDNN's frontend into build-test-cudnn/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=build-test-venv
requirements=tests/python_requirements.txt
if ! cmp -s "$requirements" "$venv/installed.txt"; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$venv/installed.txt"
fi

deploy/install_cudnn_frontend.sh build-test-cudnn
