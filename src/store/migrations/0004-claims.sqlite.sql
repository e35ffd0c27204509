-- When the task's turn comes: its creation, brought forward by a minute for each point of priority.
-- Tasks made together go by priority; one that waits is overtaken by younger ones only for so long.
ALTER TABLE tasks ADD COLUMN turn_at INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET turn_at = CAST(unixepoch(created_at, 'subsec') * 1000 AS INTEGER) - priority * 60000;

DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (turn_at, num)
  WHERE holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_ready_by_run ON tasks (run, turn_at, num)
  WHERE run IS NOT NULL AND holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_held_by_run ON tasks (run) WHERE run IS NOT NULL AND holder IS NOT NULL;

-- How many tasks of a run may be held at once; a run without a row has no limit.
CREATE TABLE run_limits (
  run      TEXT PRIMARY KEY,
  max_held INTEGER NOT NULL CHECK (max_held > 0)
) WITHOUT ROWID;
