-- Changes of a plan that the planner proposes for tasks that failed. The plan itself changes when a person confirms.
CREATE TABLE plan_changes (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  state        TEXT NOT NULL CHECK (state IN ('drafting', 'open', 'confirmed', 'rejected', 'superseded', 'failed')),
  -- Hash of the plan that it changes.
  base_hash    TEXT NOT NULL,
  -- JSON: the numbers of the tasks to replan.
  tasks        TEXT NOT NULL,
  message      TEXT,
  -- JSON: all tasks of the plan as the planner has changed them so far. It stays when the planner crashes.
  draft        TEXT NOT NULL,
  -- JSON: the proposed plan. NULL until it is submitted.
  plan         TEXT,
  -- The planner's explanation, or why there is no proposal.
  reason       TEXT,
  -- The process that has it written; another takes over when it is gone.
  process      TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  requested_at TEXT NOT NULL,
  proposed_by  TEXT,
  proposed_at  TEXT,
  decided_by   TEXT,
  decided_at   TEXT,
  note         TEXT
);
CREATE UNIQUE INDEX plan_changes_current ON plan_changes (run_id) WHERE state IN ('drafting', 'open');
