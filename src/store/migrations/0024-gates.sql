-- Who approves the verified result of a task before it is accepted; NULL if nobody does.
ALTER TABLE run_tasks ADD COLUMN gate TEXT CHECK (gate IN ('person'));

-- Verified results that wait, or waited, for the approval of a person: one row for each attempt.
CREATE TABLE gates (
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  -- Of the attempt.
  epoch      INTEGER NOT NULL,
  run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  -- Of the deliverable that the verdict is about.
  hash       TEXT NOT NULL,
  -- The commits before and after the change; NULL for a text.
  base_id    TEXT,
  commit_id  TEXT,
  held_at    TEXT NOT NULL,
  decision   TEXT CHECK (decision IN ('approved', 'returned')),
  note       TEXT,
  decided_by TEXT,
  decided_at TEXT,
  PRIMARY KEY (task_id, epoch)
);
CREATE INDEX gates_waiting ON gates (run_id) WHERE decision IS NULL;
