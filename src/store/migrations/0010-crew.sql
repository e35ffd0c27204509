-- One request, carried from plan to report.
CREATE TABLE runs (
  id            TEXT PRIMARY KEY,
  state         TEXT NOT NULL CHECK (state IN ('planning', 'planned', 'running', 'stopped', 'completed', 'failed', 'cancelled')),
  request       TEXT NOT NULL,
  brief         TEXT,
  title         TEXT NOT NULL,
  plan          TEXT,
  plan_hash     TEXT,
  budget_tokens BIGINT,
  budget_usd    DOUBLE PRECISION,
  reason        TEXT,
  created_at    TEXT NOT NULL,
  created_by    TEXT NOT NULL,
  planned_at    TEXT,
  started_at    TEXT,
  ended_at      TEXT,
  version       BIGINT NOT NULL
);
CREATE INDEX runs_newest ON runs (created_at DESC, id DESC);

-- What the plan says about a task, beside the row that workers claim.
CREATE TABLE run_tasks (
  task_id              TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
  run_id               TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  number               TEXT NOT NULL,
  requirements         TEXT NOT NULL,
  worker_role          TEXT NOT NULL,
  qc_role              TEXT NOT NULL,
  criteria             TEXT NOT NULL,
  execution            TEXT NOT NULL,
  files                TEXT NOT NULL,
  deliverable          TEXT NOT NULL CHECK (deliverable IN ('files', 'text')),
  estimated_tool_calls BIGINT,
  model                TEXT,
  notes                TEXT NOT NULL,
  failure              TEXT,
  UNIQUE (run_id, number)
);

-- One round of worker and verifier. A claim that was given back leaves a row too: what it cost was paid.
CREATE TABLE attempts (
  task_id              TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch                BIGINT NOT NULL,
  run_id               TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  attempt              BIGINT NOT NULL,
  phase                TEXT NOT NULL CHECK (phase IN
    ('worker_executing', 'worker_completed', 'qc_executing', 'qc_passed', 'qc_failed', 'abandoned')),
  worker               TEXT NOT NULL,
  is_retry             BIGINT NOT NULL,
  retry_reason         TEXT,
  started_at           TEXT NOT NULL,
  output               TEXT,
  output_characters    BIGINT,
  deliverable_hash     TEXT,
  claims               TEXT NOT NULL,
  decisions            TEXT NOT NULL,
  cites                TEXT NOT NULL,
  files_changed        TEXT NOT NULL,
  branch               TEXT,
  commit_id            TEXT,
  worker_ended_at      TEXT,
  duration_ms          BIGINT,
  input_tokens         BIGINT,
  output_tokens        BIGINT,
  tool_calls           BIGINT,
  messages             BIGINT,
  context_tokens       BIGINT,
  cost_usd             DOUBLE PRECISION,
  -- Why the worker was stopped before it was done, and what it had by then.
  stopped_because      TEXT,
  partial              TEXT,
  verifier             TEXT,
  -- Open topics on the pages it touches, as they stood when it was given to the verifier: further criteria.
  topics               TEXT NOT NULL,
  qc_epoch             BIGINT,
  qc_started_at        TEXT,
  ended_at             TEXT,
  error_context        TEXT,
  PRIMARY KEY (task_id, epoch)
);
CREATE INDEX attempts_by_run ON attempts (run_id, started_at);

-- What the system itself found when it ran the plan's deterministic checks on one deliverable.
CREATE TABLE check_results (
  task_id          TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch            BIGINT NOT NULL,
  criterion        BIGINT NOT NULL,
  deliverable_hash TEXT NOT NULL,
  passed           BIGINT NOT NULL,
  detail           TEXT NOT NULL,
  duration_ms      BIGINT NOT NULL,
  at               TEXT NOT NULL,
  PRIMARY KEY (task_id, epoch, criterion, deliverable_hash)
);

-- A verdict holds for the content it was given on. `said` is the verifier's word, `outcome` what the rules made of it.
CREATE TABLE verdicts (
  id               TEXT PRIMARY KEY,
  run_id           TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  task_id          TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch            BIGINT NOT NULL,
  attempt          BIGINT NOT NULL,
  deliverable_hash TEXT NOT NULL,
  verifier         TEXT NOT NULL,
  said             TEXT NOT NULL CHECK (said IN ('PASS', 'FAIL')),
  outcome          TEXT NOT NULL CHECK (outcome IN ('PASS', 'FAIL')),
  score            BIGINT NOT NULL CHECK (score BETWEEN 0 AND 100),
  feedback         TEXT NOT NULL,
  issues           TEXT NOT NULL,
  required_fixes   TEXT NOT NULL,
  evidence         TEXT NOT NULL,
  -- Numbers of accepted tasks in which the fault lies.
  caused_by        TEXT NOT NULL,
  -- Why the rules say FAIL, each in a sentence.
  objections       TEXT NOT NULL,
  at               TEXT NOT NULL,
  voided_at        TEXT,
  void_reason      TEXT,
  CHECK (outcome = 'FAIL' OR (said = 'PASS' AND score >= 80))
);
CREATE INDEX verdicts_by_task ON verdicts (task_id, attempt);
CREATE INDEX verdicts_by_run ON verdicts (run_id, at);

-- One agent's life and what it was sent: sizes by part, what was left out because the fleet had it, what it used.
CREATE TABLE contexts (
  id                 TEXT PRIMARY KEY,
  run_id             TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  task_id            TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  epoch              BIGINT,
  attempt            BIGINT,
  part               TEXT NOT NULL CHECK (part IN ('brief', 'pm', 'preamble', 'worker', 'qc', 'reporter')),
  agent              TEXT NOT NULL,
  runner             TEXT NOT NULL,
  model              TEXT,
  characters         BIGINT NOT NULL,
  tokens             BIGINT NOT NULL,
  parts              TEXT NOT NULL,
  repeats            BIGINT NOT NULL,
  repeat_characters  BIGINT NOT NULL,
  removed_characters BIGINT NOT NULL,
  started_at         TEXT NOT NULL,
  ended_at           TEXT,
  ended              TEXT,
  input_tokens       BIGINT,
  output_tokens      BIGINT,
  cache_read_tokens  BIGINT,
  cache_write_tokens BIGINT,
  tool_calls         BIGINT,
  messages           BIGINT,
  cost_usd           DOUBLE PRECISION
);
CREATE INDEX contexts_by_run ON contexts (run_id, started_at);
CREATE INDEX contexts_by_task ON contexts (task_id) WHERE task_id IS NOT NULL;

-- Fragments of context that some agent of the fleet has been sent.
CREATE TABLE fingerprints (
  hash       TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  characters BIGINT NOT NULL,
  first_seen TEXT NOT NULL,
  first_run  TEXT NOT NULL,
  uses       BIGINT NOT NULL
);

CREATE TABLE tool_calls (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  context_id   TEXT REFERENCES contexts (id) ON DELETE CASCADE,
  task_id      TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  epoch        BIGINT,
  part         TEXT NOT NULL,
  name         TEXT NOT NULL,
  ok           BIGINT NOT NULL,
  input        TEXT NOT NULL,
  -- The beginning of the answer: what evidence can be held against.
  output       TEXT NOT NULL,
  output_bytes BIGINT NOT NULL,
  -- Ids of nodes and entries that the answer brought.
  retrieved    TEXT NOT NULL,
  duration_ms  BIGINT NOT NULL,
  at           TEXT NOT NULL
);
CREATE INDEX tool_calls_by_run ON tool_calls (run_id, at);
CREATE INDEX tool_calls_by_task ON tool_calls (task_id, epoch);

-- Money and tokens: reserved before a call, settled after it.
CREATE TABLE spends (
  id              TEXT PRIMARY KEY,
  run_id          TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  context_id      TEXT REFERENCES contexts (id) ON DELETE CASCADE,
  task_id         TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  epoch           BIGINT,
  part            TEXT NOT NULL,
  model           TEXT,
  state           TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'released')),
  reserved_tokens BIGINT NOT NULL,
  reserved_usd    DOUBLE PRECISION,
  tokens          BIGINT,
  usd             DOUBLE PRECISION,
  at              TEXT NOT NULL,
  settled_at      TEXT
);
CREATE INDEX spends_by_run ON spends (run_id, state);
CREATE INDEX spends_by_task ON spends (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE questions (
  id          TEXT PRIMARY KEY,
  run_id      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch       BIGINT NOT NULL,
  asked_by    TEXT NOT NULL,
  question    TEXT NOT NULL,
  at          TEXT NOT NULL,
  answer      TEXT,
  answered_by TEXT,
  answered_at TEXT
);
CREATE INDEX questions_by_run ON questions (run_id, at);

CREATE TABLE preambles (
  hash    TEXT PRIMARY KEY,
  kind    TEXT NOT NULL CHECK (kind IN ('worker', 'qc')),
  role    TEXT NOT NULL,
  text    TEXT NOT NULL,
  made_by TEXT NOT NULL,
  made_at TEXT NOT NULL,
  uses    BIGINT NOT NULL
);

-- One process's workers on a run: how long they waited, how often they claimed and lost.
CREATE TABLE run_workers (
  id            TEXT PRIMARY KEY,
  run_id        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  workers       BIGINT NOT NULL,
  started_at    TEXT NOT NULL,
  ended_at      TEXT,
  claims        BIGINT NOT NULL,
  conflicts     BIGINT NOT NULL,
  late          BIGINT NOT NULL,
  claim_p50_ms  DOUBLE PRECISION NOT NULL,
  claim_p99_ms  DOUBLE PRECISION NOT NULL,
  idle_ms       BIGINT NOT NULL,
  busy_ms       BIGINT NOT NULL
);
CREATE INDEX run_workers_by_run ON run_workers (run_id);
