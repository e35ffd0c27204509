-- Reports that agents write from the record: about a failed task (by its verifier's part and by the planner's), and
-- about a run that is over. One row for each thing to report on, so that a report is written once.
CREATE TABLE agent_reports (
  run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  kind       TEXT NOT NULL CHECK (kind IN ('qc_failure', 'pm_failure', 'final')),
  -- The failed task and the epoch of its last attempt, or the hash of the run's outcome.
  about      TEXT NOT NULL,
  task_id    TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  part       TEXT NOT NULL,
  -- The process that has it written; another takes over when it is gone.
  process    TEXT NOT NULL,
  started_at TEXT NOT NULL,
  agent      TEXT,
  model      TEXT,
  -- JSON: the sections by name. NULL while it is being written, and if there is none.
  content    TEXT,
  -- The reason why there is none.
  missing    TEXT,
  ended_at   TEXT,
  PRIMARY KEY (run_id, kind, about)
);

-- The reason why the planner left a question to a person.
ALTER TABLE questions ADD COLUMN passed_on TEXT;
