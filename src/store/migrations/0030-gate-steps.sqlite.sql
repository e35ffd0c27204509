-- What happens when a person rejects a step of a plan that only asks them; NULL for tasks with a worker.
ALTER TABLE run_tasks ADD COLUMN on_reject TEXT CHECK (on_reject IN ('fail', 'stop'));

-- A question can be rejected as well.
CREATE TABLE gates_new (
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  -- Of the attempt, or of the claim under which a question was asked.
  epoch      INTEGER NOT NULL,
  run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  -- Of the deliverable that the verdict is about, or of the question.
  hash       TEXT NOT NULL,
  -- The commits before and after the change; NULL for a text and a question.
  base_id    TEXT,
  commit_id  TEXT,
  held_at    TEXT NOT NULL,
  decision   TEXT CHECK (decision IN ('approved', 'returned', 'rejected')),
  note       TEXT,
  decided_by TEXT,
  decided_at TEXT,
  PRIMARY KEY (task_id, epoch)
);
INSERT INTO gates_new (task_id, epoch, run_id, hash, base_id, commit_id, held_at, decision, note, decided_by, decided_at)
  SELECT task_id, epoch, run_id, hash, base_id, commit_id, held_at, decision, note, decided_by, decided_at FROM gates;
DROP TABLE gates;
ALTER TABLE gates_new RENAME TO gates;
CREATE INDEX gates_waiting ON gates (run_id) WHERE decision IS NULL;
