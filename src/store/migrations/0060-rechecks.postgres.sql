-- Jobs of kind recheck: an agent checks a passage against what it cites, the repository and other pages.
ALTER TABLE agent_jobs ADD COLUMN passage TEXT;
ALTER TABLE agent_jobs DROP CONSTRAINT agent_jobs_kind_check;
ALTER TABLE agent_jobs
  ADD CONSTRAINT agent_jobs_kind_check CHECK (kind IN ('incorporate', 'perspective', 'recheck')),
  ADD CONSTRAINT agent_jobs_passage_check CHECK ((kind = 'recheck') = (passage IS NOT NULL));

-- What an agent found when it checked a passage. A person confirms that it holds; an agent cannot verify.
CREATE TABLE rechecks (
  id         TEXT PRIMARY KEY,
  job_id     TEXT NOT NULL UNIQUE REFERENCES agent_jobs (id) ON DELETE CASCADE,
  subject    TEXT NOT NULL,
  hash       TEXT NOT NULL,
  text       TEXT NOT NULL,
  outcome    TEXT NOT NULL CHECK (outcome IN ('holds', 'wrong', 'unclear')),
  note       TEXT NOT NULL,
  -- JSON: quotes that were found where the agent said.
  evidence   TEXT NOT NULL,
  -- With the proposal of a corrected text, or the question to people.
  topic_id   TEXT REFERENCES topics (id) ON DELETE SET NULL,
  at         TEXT NOT NULL,
  confirmed_by TEXT,
  confirmed_at TEXT,
  CHECK (confirmed_by IS NULL OR outcome = 'holds'),
  CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL))
);
CREATE INDEX rechecks_of ON rechecks (subject, hash, at);
CREATE INDEX rechecks_by_time ON rechecks (at);
