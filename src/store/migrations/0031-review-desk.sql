-- A comment on a line that needs no further change; agents are not sent it again.
ALTER TABLE line_comments ADD COLUMN resolved_by TEXT;
ALTER TABLE line_comments ADD COLUMN resolved_at TEXT;

-- What the agent of a job was sent, said and called, in order. `n` has no gaps within a job.
CREATE TABLE job_transcript (
  job_id TEXT NOT NULL REFERENCES agent_jobs (id) ON DELETE CASCADE,
  n      INTEGER NOT NULL,
  at     TEXT NOT NULL,
  kind   TEXT NOT NULL,
  -- JSON.
  data   TEXT NOT NULL,
  PRIMARY KEY (job_id, n)
);
