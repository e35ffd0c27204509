#!/bin/sh
# Fetches the upstream of the checked-out branch and fast-forwards to it: runs start from the commit that is checked out.
# Uncommitted and diverged work stays as it is, with a message on stderr and status 1.
set -u
export GIT_TERMINAL_PROMPT=0
cannot() {
  echo "scriptorium-update: $1. Runs go on starting from $(git rev-parse --short HEAD 2>/dev/null || echo 'the commit that is checked out')." >&2
  exit 1
}
branch=$(git symbolic-ref --quiet --short HEAD) || cannot "no branch is checked out in $PWD; check one out: git switch main"
upstream=$(git rev-parse --abbrev-ref '@{upstream}' 2>/dev/null) ||
  cannot "$branch follows no remote branch; set it: git branch --set-upstream-to origin/$branch"
said=$(git fetch --quiet 2>&1) || cannot "the repository cannot be fetched: $said"
git merge-base --is-ancestor '@{upstream}' HEAD && exit 0
git merge-base --is-ancestor HEAD '@{upstream}' ||
  cannot "$branch and $upstream have diverged; push or merge the commits that only this clone has"
said=$(git merge --quiet --ff-only '@{upstream}' 2>&1) ||
  cannot "$branch cannot be fast-forwarded to $upstream: $said"
echo "scriptorium-update: $branch is at $(git rev-parse --short HEAD)" >&2
