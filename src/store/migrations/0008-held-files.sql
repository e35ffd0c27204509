-- Files of a deliverable that instruct agents or run programs unasked: they wait for a person. One row for each
-- different content of a task, so that a person decides about the same content once.
CREATE TABLE held_files (
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  -- Of the paths and contents.
  hash       TEXT NOT NULL,
  run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  epoch      INTEGER NOT NULL,
  -- The commits before and after the change.
  base_id    TEXT NOT NULL,
  commit_id  TEXT NOT NULL,
  -- JSON: path, status, blob, why.
  files      TEXT NOT NULL,
  held_at    TEXT NOT NULL,
  decision   TEXT CHECK (decision IN ('allowed', 'refused')),
  note       TEXT,
  decided_by TEXT,
  decided_at TEXT,
  PRIMARY KEY (task_id, hash)
);
CREATE INDEX held_files_waiting ON held_files (run_id) WHERE decision IS NULL;
