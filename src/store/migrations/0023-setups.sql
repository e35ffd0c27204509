-- How a run got its dependencies: one row for each time that they were installed, and for each start of a run.
CREATE TABLE setups (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  -- The task whose deliverable needs a setup of its own; NULL for the run's.
  task_id      TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  -- Of commands, inputs and machine.
  hash         TEXT NOT NULL,
  -- JSON: the commands, each as program and arguments.
  commands     TEXT NOT NULL,
  -- The lockfile that asked for it, or "the plan".
  origin       TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('running', 'installed', 'reused', 'failed')),
  started_at   TEXT NOT NULL,
  ended_at     TEXT,
  bytes        BIGINT,
  files        INTEGER,
  error        TEXT,
  -- JSON: the hosts that it reached or tried to.
  destinations TEXT
);
CREATE INDEX setups_of_run ON setups (run_id, started_at);
