-- Messages of people to the worker of a task, while it works or for its next attempt.
CREATE TABLE steering_messages (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  content      TEXT NOT NULL,
  sent_by      TEXT NOT NULL,
  sent_at      TEXT NOT NULL,
  -- Between two turns of a model, with the result of a tool call, or in the context of a new attempt.
  delivered    TEXT CHECK (delivered IN ('turn', 'tool_result', 'context')),
  delivered_at TEXT,
  -- The epoch of the attempt that got it.
  epoch        INTEGER
);
CREATE INDEX steering_messages_of_task ON steering_messages (task_id);

-- What each agent of a run was sent, said and called, in order. `n` has no gaps within a run, so that a
-- reader that has seen n misses nothing before it.
CREATE TABLE transcript (
  run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  n          INTEGER NOT NULL,
  context_id TEXT NOT NULL REFERENCES contexts (id) ON DELETE CASCADE,
  at         TEXT NOT NULL,
  kind       TEXT NOT NULL,
  -- The recorded tool call, whose input and answer are in tool_calls.
  call_id    TEXT,
  -- JSON.
  data       TEXT NOT NULL,
  PRIMARY KEY (run_id, n)
);
CREATE INDEX transcript_of_context ON transcript (context_id, n);
