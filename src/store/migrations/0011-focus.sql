-- Runs along the pipeline: which role holds the focus. The epoch rises with each change of the holder; a write of a
-- turn names it, so that none takes effect after the turn.
CREATE TABLE focus (
  run       TEXT PRIMARY KEY,
  -- NULL once the run has ended.
  holder    TEXT,
  -- Number of handoffs so far.
  step      INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  since     TEXT NOT NULL,
  -- The holder's first act; NULL while the handoff waits for it.
  begun_at  TEXT,
  active_at TEXT NOT NULL,
  handed_by TEXT,
  -- The token of the agent that began the run without naming it, '' without a token; NULL if the run was named.
  owner     TEXT,
  -- Why the run ended.
  ended     TEXT
);
CREATE INDEX focus_by_holder ON focus (holder, since);

-- The entries that a turn has read.
CREATE TABLE focus_reads (
  run      TEXT NOT NULL REFERENCES focus (run) ON DELETE CASCADE,
  epoch    INTEGER NOT NULL,
  entry_id TEXT NOT NULL,
  nth      INTEGER NOT NULL,
  PRIMARY KEY (run, epoch, entry_id)
);

INSERT INTO focus (run, holder, step, epoch, since, begun_at, active_at, handed_by, owner, ended)
SELECT run, to_role, step, step + 1, at, NULL, at, from_role, NULL, CASE WHEN to_role IS NULL THEN 'pipeline complete' END
FROM handoffs last WHERE step = (SELECT MAX(step) FROM handoffs WHERE run = last.run);
