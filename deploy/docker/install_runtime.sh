#!/usr/bin/env bash
# Makes a Debian 12 root that of an image, but for the programs: what they link, the user
# that runs them, the folder that is theirs. Each runtime stage of the Dockerfile is this.
#   deploy/docker/install_runtime.sh server|worker|client|demo
set -euo pipefail

here="$(dirname "${BASH_SOURCE[0]}")"
case "${1:-}" in
  server) folder=(/var/lib/evenpack 700) ;; # the store
  # The sockets that worker and trainer share, which say themselves who may connect; a pod
  # that runs as another user mounts its folders in it.
  worker | demo) folder=(/run/evenpack 711) ;;
  client) folder=() ;;
  *)
    sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

"$here/../install_packages.sh" "$1-runtime"
apt-get clean
rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log \
  /var/cache/ldconfig/aux-cache
"$here/add_user.sh" "${folder[@]}"
