-- Git packs that carry commits of runs to other machines, in chunks of bounded size.
CREATE TABLE git_packs (
  -- Git's checksum of the pack.
  id         TEXT PRIMARY KEY,
  bytes      BIGINT NOT NULL,
  chunks     INTEGER NOT NULL,
  -- 0 while its chunks are being written.
  complete   INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  created_at TEXT NOT NULL
);
CREATE TABLE git_pack_chunks (
  pack_id TEXT NOT NULL REFERENCES git_packs (id) ON DELETE CASCADE,
  num     INTEGER NOT NULL,
  data    BYTEA NOT NULL,
  PRIMARY KEY (pack_id, num)
);

-- Commits of runs that a pack has. Packs that have the rest of a commit's history are those of the commits in `needs`.
CREATE TABLE run_commits (
  run_id    TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  commit_id TEXT NOT NULL,
  pack_id   TEXT NOT NULL REFERENCES git_packs (id),
  -- JSON: commit ids.
  needs     TEXT NOT NULL,
  -- 1: the history ends at this commit, which the run started from.
  is_base   INTEGER NOT NULL CHECK (is_base IN (0, 1)),
  PRIMARY KEY (run_id, commit_id)
);
CREATE INDEX run_commits_pack ON run_commits (pack_id);

-- Where the accepted work of a run stands; branches in repositories follow it.
CREATE TABLE run_branches (
  run_id      TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  -- The commit that the run started from.
  base_id     TEXT NOT NULL,
  accepted_id TEXT NOT NULL
);
