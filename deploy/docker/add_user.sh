#!/usr/bin/env bash
# Makes the user that runs the programs of an image, and a folder that is that user's.
#   deploy/docker/add_user.sh [FOLDER MODE]
set -euo pipefail

# Also in helm/evenpack, whose securityContext names it.
readonly user=evenpack id=10001

if ! getent passwd "$id" >/dev/null; then
  groupadd --gid "$id" "$user"
  useradd --uid "$id" --gid "$id" --no-create-home --home-dir /nonexistent \
    --shell /usr/sbin/nologin "$user"
fi
# A volume that an engine makes anew takes owner and mode from the folder below it.
[[ $# == 0 ]] || install -d -m "$2" -o "$id" -g "$id" "$1"
