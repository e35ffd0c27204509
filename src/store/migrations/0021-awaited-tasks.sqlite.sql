-- Whether other tasks depend on it. It stands in the task's own row: whoever completes the task reads
-- it there with the write itself, and cannot overlook a dependent that is made at the same moment.
ALTER TABLE tasks ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET awaited = 1 WHERE id IN (SELECT depends_on FROM task_dependencies);
