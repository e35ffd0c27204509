-- When the task's turn comes: its creation, brought forward by a minute for each point of priority.
-- Tasks made together go by priority; one that waits is overtaken by younger ones only for so long.
ALTER TABLE tasks ADD COLUMN turn_at BIGINT NOT NULL DEFAULT 0;
UPDATE tasks SET turn_at = CAST(extract(epoch FROM created_at::timestamptz) * 1000 AS BIGINT) - priority * 60000;

DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (turn_at, num)
  WHERE holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_ready_by_run ON tasks (run, turn_at, num)
  WHERE run IS NOT NULL AND holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_held_by_run ON tasks (run) WHERE run IS NOT NULL AND holder IS NOT NULL;

-- How many tasks of a run may be held at once; a run without a row has no limit.
CREATE TABLE run_limits (
  run      TEXT PRIMARY KEY,
  max_held BIGINT NOT NULL CHECK (max_held > 0)
);

-- A transaction that notifies takes a lock at commit which all others that notify wait for, and
-- commits no longer share their fsync. The process tells the others after its commit instead.
DROP TRIGGER events_tell ON events;
DROP FUNCTION tell_listeners();

-- Rows of tasks change many times in their short life.
ALTER TABLE tasks SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
