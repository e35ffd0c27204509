#!/bin/sh
# Clones the repository of the workspace on the first start of the container, fast-forwards it on later ones, then runs
# scriptorium.
set -eu
if [ -n "${WORKSPACE_REPOSITORY:-}" ]; then
  if [ ! -e scriptorium.yaml ]; then
    git clone --quiet -- "$WORKSPACE_REPOSITORY" .
  else
    # A repository that cannot be reached must not keep the server from starting.
    scriptorium-update || true
  fi
fi
exec scriptorium "$@"
