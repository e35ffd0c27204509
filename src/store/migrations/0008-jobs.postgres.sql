CREATE TABLE agent_jobs (
  id                 TEXT PRIMARY KEY,
  kind               TEXT NOT NULL CHECK (kind IN ('incorporate', 'perspective')),
  source_path        TEXT NOT NULL,
  topic_id           TEXT,
  persona_name       TEXT,
  status             TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'timed_out')),
  started_at         TEXT,
  completed_at       TEXT,
  exit_code          INTEGER,
  error_tail         TEXT,
  created_at         TEXT NOT NULL,
  created_by         TEXT NOT NULL,
  -- What happened, in a sentence for the person.
  message            TEXT,
  -- The process that runs it or will; NULL until one has taken it over.
  holder             TEXT,
  -- Milliseconds of the store's clock: the holder's last sign of life.
  beat_at            BIGINT,
  cancelled_by       TEXT,
  input_tokens       BIGINT,
  output_tokens      BIGINT,
  cache_read_tokens  BIGINT,
  cache_write_tokens BIGINT,
  tool_calls         BIGINT,
  messages           BIGINT,
  cost_usd           DOUBLE PRECISION,
  duration_ms        BIGINT,
  CHECK ((kind = 'incorporate') = (topic_id IS NOT NULL)),
  CHECK ((kind = 'perspective') = (persona_name IS NOT NULL)),
  CHECK ((completed_at IS NULL) = (status IN ('queued', 'running')))
);
CREATE INDEX agent_jobs_by_status ON agent_jobs (status);
CREATE INDEX agent_jobs_by_source ON agent_jobs (source_path, created_at DESC);
CREATE UNIQUE INDEX agent_jobs_in_flight ON agent_jobs (source_path) WHERE status IN ('queued', 'running');
