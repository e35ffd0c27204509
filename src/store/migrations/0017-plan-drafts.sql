-- The tasks that a planner has submitted so far. They stay when the planner crashes, and are deleted when the plan is
-- stored.
CREATE TABLE plan_drafts (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  -- The number of the task in the plan.
  number TEXT NOT NULL,
  -- JSON.
  task   TEXT NOT NULL,
  at     TEXT NOT NULL,
  PRIMARY KEY (run_id, number)
);
