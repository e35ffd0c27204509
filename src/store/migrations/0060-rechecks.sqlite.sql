-- Jobs of kind recheck: an agent checks a passage against what it cites, the repository and other pages.
-- SQLite cannot change a CHECK, so the table is made again; rows that refer to it are kept aside meanwhile.
CREATE TABLE kept_transcript AS SELECT * FROM job_transcript;
DELETE FROM job_transcript;
CREATE TABLE new_agent_jobs (
  id                 TEXT PRIMARY KEY,
  kind               TEXT NOT NULL CHECK (kind IN ('incorporate', 'perspective', 'recheck')),
  source_path        TEXT NOT NULL,
  topic_id           TEXT REFERENCES topics (id) ON DELETE CASCADE,
  persona_name       TEXT,
  -- The hash of the passage to check.
  passage            TEXT,
  status             TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'timed_out')),
  started_at         TEXT,
  completed_at       TEXT,
  exit_code          INTEGER,
  error_tail         TEXT,
  created_at         TEXT NOT NULL,
  created_by         TEXT NOT NULL,
  -- The outcome, in a sentence for the person.
  message            TEXT,
  -- The process that runs it; NULL until one claims it.
  holder             TEXT,
  -- The holder's last heartbeat, in milliseconds of the database's clock.
  beat_at            INTEGER,
  cancelled_by       TEXT,
  input_tokens       INTEGER,
  output_tokens      INTEGER,
  cache_read_tokens  INTEGER,
  cache_write_tokens INTEGER,
  tool_calls         INTEGER,
  messages           INTEGER,
  cost_usd           REAL,
  duration_ms        INTEGER,
  destinations       TEXT,
  CHECK ((kind = 'incorporate') = (topic_id IS NOT NULL)),
  CHECK ((kind = 'perspective') = (persona_name IS NOT NULL)),
  CHECK ((kind = 'recheck') = (passage IS NOT NULL)),
  CHECK ((completed_at IS NULL) = (status IN ('queued', 'running')))
);
INSERT INTO new_agent_jobs (
  id, kind, source_path, topic_id, persona_name, status, started_at, completed_at, exit_code,
  error_tail, created_at, created_by, message, holder, beat_at, cancelled_by, input_tokens,
  output_tokens, cache_read_tokens, cache_write_tokens, tool_calls, messages, cost_usd, duration_ms,
  destinations
)
SELECT
  id, kind, source_path, topic_id, persona_name, status, started_at, completed_at, exit_code,
  error_tail, created_at, created_by, message, holder, beat_at, cancelled_by, input_tokens,
  output_tokens, cache_read_tokens, cache_write_tokens, tool_calls, messages, cost_usd, duration_ms,
  destinations
FROM agent_jobs;
DROP TABLE agent_jobs;
ALTER TABLE new_agent_jobs RENAME TO agent_jobs;
CREATE INDEX agent_jobs_by_status ON agent_jobs (status);
CREATE INDEX agent_jobs_by_source ON agent_jobs (source_path, created_at DESC);
CREATE UNIQUE INDEX agent_jobs_in_flight ON agent_jobs (source_path) WHERE status IN ('queued', 'running');
CREATE INDEX agent_jobs_by_topic ON agent_jobs (topic_id) WHERE topic_id IS NOT NULL;
INSERT INTO job_transcript SELECT * FROM kept_transcript;
DROP TABLE kept_transcript;

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
