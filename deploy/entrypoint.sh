#!/bin/sh
# Clones the repository of the workspace on the first start of the container, then runs scriptorium.
set -eu
if [ ! -e scriptorium.yaml ] && [ -n "${WORKSPACE_REPOSITORY:-}" ]; then
  git clone --quiet -- "$WORKSPACE_REPOSITORY" .
fi
exec scriptorium "$@"
