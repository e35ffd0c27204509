CREATE TABLE tasks (
  num           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id            TEXT NOT NULL UNIQUE,
  run           TEXT,
  title         TEXT NOT NULL,
  description   TEXT NOT NULL,
  state         TEXT NOT NULL,
  priority      BIGINT NOT NULL,
  attempt       BIGINT NOT NULL,
  max_retries   BIGINT NOT NULL,
  -- How many of the tasks it depends on are not completed; kept true as they complete.
  blockers_left BIGINT NOT NULL CHECK (blockers_left >= 0),
  -- How many of them have failed or were cancelled, or are themselves behind one that was.
  lost_blockers BIGINT NOT NULL CHECK (lost_blockers >= 0),
  epoch         BIGINT NOT NULL,
  holder        TEXT,
  claimed_at    BIGINT,
  lease_until   BIGINT,
  result        TEXT NOT NULL,
  version       BIGINT NOT NULL,
  created_at    TEXT NOT NULL,
  created_by    TEXT NOT NULL,
  updated_at    TEXT NOT NULL,
  CHECK ((holder IS NULL) = (lease_until IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX tasks_ready ON tasks (priority DESC, num)
  WHERE holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE holder IS NOT NULL;
CREATE INDEX tasks_by_run ON tasks (run, num);

CREATE TABLE task_dependencies (
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  depends_on TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  PRIMARY KEY (task_id, depends_on)
);
CREATE INDEX task_dependents ON task_dependencies (depends_on, task_id);
