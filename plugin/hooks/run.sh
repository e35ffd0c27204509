#!/bin/sh
# Runs `scriptorium hook EVENT` where there is a workspace. Elsewhere it starts no other program.
# It always exits with 0: clients treat exit code 2 as "block".
folder=${CLAUDE_PROJECT_DIR:-$PWD}
until [ -f "$folder/scriptorium.yaml" ]; do
  case $folder in / | . | "") exit 0 ;; esac
  folder=$(dirname -- "$folder")
done

# Only from PATH: node_modules/.bin of a cloned repository may hold anything.
if ! command -v scriptorium >/dev/null 2>&1; then
  [ "$1" = session-start ] &&
    printf '%s\n' '{"systemMessage":"This repository has a Scriptorium workspace, but scriptorium is not installed: npm install -g scriptorium"}'
  exit 0
fi
scriptorium hook "$1" 2>/dev/null || exit 0
