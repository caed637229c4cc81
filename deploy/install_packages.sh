#!/usr/bin/env bash
# Installs what is missing of the named sections of deploy/packages.txt.
#   deploy/install_packages.sh build test
# Without apt-get it installs nothing, and fails only where a command is missing.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages.txt"

fail() {
  echo "install_packages.sh: $1" >&2
  exit "${2:-1}"
}

# Lines "package [command]" of one section, without comments.
section_lines() {
  awk -v wanted="[$1]" '
    { sub(/#.*/, "") }
    /^\[/ { inside = ($1 == wanted); next }
    inside && NF { print $1, $2 }' "$list"
}

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null)" == ii* ]]
}

as_root() {
  if [[ "$(id -u)" == 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    fail "to install ${missing[*]}, run it as root or install sudo"
  fi
}

[[ $# -gt 0 ]] || fail "name the sections of packages.txt to install: build, test" 2
lines=""
for section in "$@"; do
  found="$(section_lines "$section")"
  [[ -n "$found" ]] || fail "section '$section' is not in packages.txt; it has: $(
    sed -n 's/^\[\(.*\)\].*/\1/p' "$list" | paste -sd' ')" 2
  lines+="$found"$'\n'
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  absent=()
  while read -r package program; do
    [[ -z "$program" ]] || command -v "$program" >/dev/null ||
      absent+=("$program (Debian: $package)")
  done <<<"$lines"
  [[ ${#absent[@]} == 0 ]] ||
    fail "apt-get is not here to install what is missing: $(
      printf '%s, ' "${absent[@]}" | sed 's/, $//')"
  echo "install_packages.sh: apt-get is not here; going on with the installed tools" >&2
  exit 0
fi

missing=()
while read -r package _; do
  [[ -z "$package" ]] || is_installed "$package" || missing+=("$package")
done <<<"$lines"
[[ ${#missing[@]} -gt 0 ]] || exit 0

echo "Installing: ${missing[*]}" >&2
as_root apt-get update -q >&2 || fail "apt-get update failed"
as_root apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 ||
  fail "apt-get could not install: ${missing[*]}"
