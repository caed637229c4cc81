#!/bin/bash
# evenpack-http-check HOST PORT PATH: whether the page is there, for health checks of
# images, which have no HTTP client. Exit status 0: it answered 200.
set -euo pipefail

if [[ $# -ne 3 ]]; then
  echo "usage: evenpack-http-check HOST PORT PATH" >&2
  exit 2
fi
exec 3<>"/dev/tcp/$1/$2"
printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$3" "$1" >&3
IFS=' ' read -r _ status _ <&3
echo "$3: $status"
[[ "$status" == 200 ]]
