#!/usr/bin/env bash
# Installs the headers of cuDNN's frontend from PyPI as FOLDER/include, where they aren't
# there yet: CMake's EVENPACK_CUDNN_FRONTEND. The worker is compiled with them.
#   deploy/install_cudnn_frontend.sh FOLDER
set -euo pipefail

if [[ $# -ne 1 || "$1" == -* ]]; then
  sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
folder="$1"
frontend=nvidia-cudnn-frontend==1.32.0
if [[ "$(cat "$folder/installed.txt" 2>/dev/null)" != "$frontend" ]]; then
  rm -rf "$folder"
  # Without what its Python needs, which is some gigabytes.
  python3 -m pip install --quiet --disable-pip-version-check --no-deps \
    --target "$folder" "$frontend"
  echo "$frontend" >"$folder/installed.txt"
fi
