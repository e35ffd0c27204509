-- The whole schema. Times are ISO 8601 text unless a comment says otherwise, JSON is text, booleans are 0 and 1.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

-- Events ---------------------------------------------------------------------------------------

CREATE TABLE events (
  seq     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      TEXT NOT NULL,
  actor   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  data    TEXT NOT NULL,
  -- A sequence number is assigned before its transaction commits. Readers order by (xid, seq) and stop
  -- at the oldest running transaction, so that they never skip an event that commits late.
  xid     XID8 NOT NULL DEFAULT pg_current_xact_id()
);
-- No trigger notifies listeners: NOTIFY takes a lock at commit that serialises all notifying transactions
-- and defeats group commit. The process notifies after its commit.
CREATE INDEX events_in_order ON events (xid, seq);

-- Entries --------------------------------------------------------------------------------------

CREATE TABLE entries (
  num         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  version     BIGINT NOT NULL CHECK (version >= 1),
  -- The git blob id of the file's bytes.
  blob        TEXT NOT NULL,
  last_author TEXT NOT NULL,
  title       TEXT,
  words       BIGINT NOT NULL,
  updated_at  TEXT NOT NULL,
  -- The file's stat when `blob` was computed; empty in the database store.
  stat        TEXT NOT NULL,
  indexed     BIGINT NOT NULL DEFAULT 0,
  -- The node ids that the text links to, as a JSON array; NULL until the text has been parsed.
  links       TEXT
);
CREATE INDEX entries_unread ON entries (num) WHERE links IS NULL;

CREATE TABLE entry_versions (
  entry_id TEXT NOT NULL,
  version  BIGINT NOT NULL,
  blob     TEXT NOT NULL,
  -- In the database store the text, or the appended part if `appended`; the file store has it in git.
  content  TEXT,
  appended BIGINT NOT NULL,
  author   TEXT NOT NULL,
  role     TEXT,
  run      TEXT,
  task     TEXT,
  epoch    BIGINT,
  at       TEXT NOT NULL,
  summary  TEXT NOT NULL,
  PRIMARY KEY (entry_id, version)
);

-- entries.links as rows, indexed in both directions. Triggers maintain it, so that no write path can miss it.
CREATE TABLE entry_links (
  entry_id TEXT NOT NULL,
  to_id    TEXT NOT NULL,
  PRIMARY KEY (entry_id, to_id)
);
CREATE INDEX entry_links_in ON entry_links (to_id, entry_id);

CREATE FUNCTION keep_entry_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM entry_links WHERE entry_id = OLD.id;
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM entry_links WHERE entry_id = NEW.id
      AND to_id NOT IN (SELECT jsonb_array_elements_text(coalesce(NEW.links, '[]')::jsonb));
  END IF;
  INSERT INTO entry_links (entry_id, to_id)
    SELECT NEW.id, to_id FROM jsonb_array_elements_text(coalesce(NEW.links, '[]')::jsonb) AS to_id
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER entry_links_added AFTER INSERT ON entries FOR EACH ROW WHEN (NEW.links IS NOT NULL)
  EXECUTE FUNCTION keep_entry_links();
CREATE TRIGGER entry_links_changed AFTER UPDATE ON entries FOR EACH ROW WHEN (NEW.links IS DISTINCT FROM OLD.links)
  EXECUTE FUNCTION keep_entry_links();
CREATE TRIGGER entry_links_gone AFTER DELETE ON entries FOR EACH ROW EXECUTE FUNCTION keep_entry_links();

-- The tasks that wrote an entry, each with the last version it wrote.
CREATE TABLE entry_writers (
  entry_id TEXT NOT NULL,
  task     TEXT NOT NULL,
  epoch    BIGINT,
  attempt  BIGINT,
  version  BIGINT NOT NULL,
  role     TEXT,
  at       TEXT NOT NULL,
  PRIMARY KEY (entry_id, task)
);
CREATE INDEX entry_writers_by_task ON entry_writers (task, entry_id);

CREATE FUNCTION keep_entry_writers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM entry_writers WHERE entry_id = OLD.entry_id AND task = OLD.task;
    RETURN NULL;
  END IF;
  INSERT INTO entry_writers (entry_id, task, epoch, attempt, version, role, at)
    VALUES (NEW.entry_id, NEW.task, NEW.epoch,
            (SELECT attempt FROM tasks WHERE id = NEW.task AND epoch = NEW.epoch), NEW.version, NEW.role, NEW.at)
    ON CONFLICT (entry_id, task) DO UPDATE SET
      epoch = excluded.epoch, attempt = excluded.attempt, version = excluded.version, role = excluded.role, at = excluded.at;
  RETURN NULL;
END $$;
CREATE TRIGGER entry_writers_added AFTER INSERT ON entry_versions FOR EACH ROW WHEN (NEW.task IS NOT NULL)
  EXECUTE FUNCTION keep_entry_writers();
CREATE TRIGGER entry_writers_gone AFTER DELETE ON entry_versions FOR EACH ROW WHEN (OLD.task IS NOT NULL)
  EXECUTE FUNCTION keep_entry_writers();

-- File versions that are not in git yet.
CREATE TABLE git_queue (
  seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  path       TEXT NOT NULL,
  blob       TEXT NOT NULL,
  -- The blob of the version before.
  base       TEXT,
  -- The bytes, or those after `base` if `appended`; NULL once git has them.
  content    BYTEA,
  appended   BIGINT NOT NULL,
  author     TEXT NOT NULL,
  by_person  BIGINT NOT NULL,
  message    TEXT NOT NULL,
  at         TEXT NOT NULL,
  in_history BIGINT NOT NULL DEFAULT 0,
  -- A commit to the person's branch replaces only this blob; NULL replaces any.
  only_on    TEXT
);

CREATE TABLE handoffs (
  id        TEXT PRIMARY KEY,
  run       TEXT NOT NULL,
  step      BIGINT NOT NULL,
  from_role TEXT NOT NULL,
  requested TEXT NOT NULL,
  to_role   TEXT,
  summary   TEXT NOT NULL,
  at        TEXT NOT NULL,
  taken_at  TEXT,
  UNIQUE (run, step)
);
CREATE INDEX handoffs_waiting ON handoffs (to_role, at) WHERE taken_at IS NULL;

-- Sources --------------------------------------------------------------------------------------

CREATE TABLE sources (
  path     TEXT PRIMARY KEY,
  sha256   TEXT NOT NULL,
  size     BIGINT NOT NULL,
  added_by TEXT NOT NULL,
  at       TEXT NOT NULL,
  -- The file of a watched folder that this is a copy of, and when that file changed or was removed.
  origin   TEXT,
  gone_at  TEXT
);
CREATE INDEX sources_by_origin ON sources (origin) WHERE origin IS NOT NULL;

-- Extracted text, by content.
CREATE TABLE source_texts (
  sha256 TEXT PRIMARY KEY,
  format TEXT NOT NULL,
  text   TEXT NOT NULL
);

-- People and access ----------------------------------------------------------------------------

-- People who may sign in. A token of theirs may have a lower role, never a higher one.
CREATE TABLE users (
  name       TEXT PRIMARY KEY,
  email      TEXT,
  role       TEXT NOT NULL CHECK (role IN ('reader', 'collaborator', 'admin')),
  created_at TEXT NOT NULL,
  removed_at TEXT
);

CREATE TABLE tokens (
  id         TEXT PRIMARY KEY,
  hash       TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL CHECK (kind IN ('agent', 'person')),
  name       TEXT NOT NULL,
  role       TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT
);

-- Tasks ----------------------------------------------------------------------------------------

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
  -- Dependencies that are not completed; decremented as they complete.
  blockers_left BIGINT NOT NULL CHECK (blockers_left >= 0),
  -- Dependencies that failed, were cancelled, or cannot start because of one that did.
  lost_blockers BIGINT NOT NULL CHECK (lost_blockers >= 0),
  epoch         BIGINT NOT NULL,
  holder        TEXT,
  -- Milliseconds of the database's clock, like lease_until.
  claimed_at    BIGINT,
  lease_until   BIGINT,
  result        TEXT NOT NULL,
  version       BIGINT NOT NULL,
  created_at    TEXT NOT NULL,
  created_by    TEXT NOT NULL,
  updated_at    TEXT NOT NULL,
  -- Position in the queue, in milliseconds: the creation time minus one minute per point of priority.
  -- Tasks created together are ordered by priority, and a low priority delays a task only for so long.
  turn_at       BIGINT NOT NULL DEFAULT 0,
  -- 1 once another task depends on this one. It is in this row so that the write that completes the task
  -- reads it, and cannot miss a dependent that is created at the same moment.
  awaited       INTEGER NOT NULL DEFAULT 0,
  CHECK ((holder IS NULL) = (lease_until IS NULL))
-- A task is updated many times in a short life: leave room for HOT updates and vacuum early.
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE INDEX tasks_ready ON tasks (turn_at, num)
  WHERE holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_ready_by_run ON tasks (run, turn_at, num)
  WHERE run IS NOT NULL AND holder IS NULL AND blockers_left = 0 AND state IN ('pending', 'preparing_retry');
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE holder IS NOT NULL;
CREATE INDEX tasks_by_run ON tasks (run, num);
CREATE INDEX tasks_held_by_run ON tasks (run) WHERE run IS NOT NULL AND holder IS NOT NULL;

CREATE TABLE task_dependencies (
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  depends_on TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  PRIMARY KEY (task_id, depends_on)
);
CREATE INDEX task_dependents ON task_dependencies (depends_on, task_id);

-- Maximum number of tasks of a run that are claimed at once; a run without a row has no limit.
CREATE TABLE run_limits (
  run      TEXT PRIMARY KEY,
  max_held BIGINT NOT NULL CHECK (max_held > 0)
);

-- Graph ----------------------------------------------------------------------------------------

CREATE TABLE nodes (
  num        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  type       TEXT NOT NULL,
  title      TEXT NOT NULL,
  properties TEXT NOT NULL,
  version    BIGINT NOT NULL CHECK (version >= 1),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  -- Role, run and claim of the last write.
  role       TEXT,
  run        TEXT,
  task       TEXT,
  epoch      BIGINT,
  attempt    BIGINT,
  -- `properties`, parsed once on write.
  data       JSONB GENERATED ALWAYS AS (properties::jsonb) STORED
);
CREATE INDEX nodes_by_type ON nodes (type, num);
CREATE INDEX nodes_by_task ON nodes (task, id) WHERE task IS NOT NULL;
CREATE INDEX nodes_data ON nodes USING GIN (data jsonb_path_ops);

-- The ends are not foreign keys: edges also lead to entries, tasks and topics.
CREATE TABLE edges (
  num        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  type       TEXT NOT NULL,
  from_id    TEXT NOT NULL,
  to_id      TEXT NOT NULL,
  properties TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  role       TEXT,
  run        TEXT,
  task       TEXT,
  epoch      BIGINT,
  attempt    BIGINT,
  UNIQUE (from_id, to_id, type)
);
CREATE INDEX edges_out ON edges (from_id, num);
CREATE INDEX edges_in ON edges (to_id, num);

-- Topics ---------------------------------------------------------------------------------------

CREATE TABLE topics (
  id           TEXT PRIMARY KEY,
  path         TEXT NOT NULL,
  -- The graph node of its entry or page.
  about        TEXT,
  kind         TEXT NOT NULL CHECK (kind IN ('change', 'question')),
  status       TEXT NOT NULL CHECK (status IN ('open', 'resolved')),
  -- The highest sequence number of its messages.
  messages     BIGINT NOT NULL,
  created_by   TEXT NOT NULL,
  created_at   TEXT NOT NULL,
  resolved_by  TEXT,
  resolved_at  TEXT,
  -- The last certain position, as JSON; NULL for a topic about the whole page.
  anchor       TEXT,
  -- The blob that the anchor's offsets refer to; its text is in page_texts.
  anchor_blob  TEXT,
  anchor_state TEXT CHECK (anchor_state IN ('anchored', 'moved', 'needs-review', 'orphaned')),
  -- The likely new position, as JSON, until a person confirms it.
  place        TEXT,
  first_quote  TEXT,
  -- The page's blob when the anchor was last searched for; empty if there was no page.
  seen_blob    TEXT NOT NULL,
  CHECK ((status = 'open') = (resolved_at IS NULL)),
  CHECK ((anchor IS NULL) = (anchor_blob IS NULL)),
  CHECK ((anchor IS NULL) = (anchor_state IS NULL)),
  CHECK ((anchor_state = 'needs-review') = (place IS NOT NULL))
);
CREATE INDEX topics_by_path ON topics (path, id);
CREATE INDEX topics_open ON topics (path) WHERE status = 'open';
CREATE INDEX topics_by_blob ON topics (anchor_blob);
CREATE INDEX topics_by_about ON topics (about);

CREATE TABLE messages (
  topic_id    TEXT NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  seq         BIGINT NOT NULL CHECK (seq > 0),
  author      TEXT NOT NULL,
  author_kind TEXT NOT NULL CHECK (author_kind IN ('person', 'agent')),
  text        TEXT NOT NULL,
  created_at  TEXT NOT NULL,
  edited_at   TEXT,
  PRIMARY KEY (topic_id, seq)
);

-- Texts that anchors refer to. Git lacks those of edits that were never committed.
CREATE TABLE page_texts (
  blob TEXT PRIMARY KEY,
  text TEXT NOT NULL
);

-- Proposals ------------------------------------------------------------------------------------

CREATE TABLE proposals (
  id              TEXT PRIMARY KEY,
  kind            TEXT NOT NULL,
  subject         TEXT NOT NULL,
  data            TEXT NOT NULL,
  proposed_by     TEXT,
  status          TEXT NOT NULL CHECK (status IN ('open', 'approved', 'rejected', 'superseded')),
  created_at      TEXT NOT NULL,
  decided_at      TEXT,
  decided_by      TEXT,
  note            TEXT,
  -- From here on for pages only: the topic, and the number of this revision within it.
  topic_id        TEXT,
  revision_number INTEGER CHECK (revision_number >= 1),
  -- The git blob that the revision is based on, and its text.
  base_source_sha TEXT,
  base_text       TEXT,
  text            TEXT,
  job_id          TEXT,
  -- The person's decision, written before the file is: recovery after a crash completes it.
  approval        TEXT,
  CHECK ((status = 'open') = (decided_at IS NULL)),
  CHECK (kind <> 'page' OR (topic_id IS NOT NULL AND revision_number IS NOT NULL AND base_source_sha IS NOT NULL
    AND base_text IS NOT NULL AND text IS NOT NULL)),
  UNIQUE (topic_id, revision_number)
);
CREATE UNIQUE INDEX proposals_one_open ON proposals (kind, subject) WHERE status = 'open' AND kind <> 'page';
CREATE UNIQUE INDEX proposals_one_open_revision ON proposals (topic_id) WHERE status = 'open' AND kind = 'page';
CREATE INDEX proposals_unfinished ON proposals (id) WHERE approval IS NOT NULL AND status = 'open';

CREATE TABLE proposal_comments (
  id             TEXT PRIMARY KEY,
  proposal_id    TEXT NOT NULL REFERENCES proposals (id),
  author         TEXT NOT NULL,
  text           TEXT NOT NULL,
  wants_revision INTEGER NOT NULL,
  at             TEXT NOT NULL
);
CREATE INDEX proposal_comments_of ON proposal_comments (proposal_id, at);

-- Jobs -----------------------------------------------------------------------------------------

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
  -- The outcome, in a sentence for the person.
  message            TEXT,
  -- The process that runs it; NULL until one claims it.
  holder             TEXT,
  -- The holder's last heartbeat, in milliseconds of the database's clock.
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

-- Pages as personas read them, cached by the hashes of everything that went in.
CREATE TABLE perspectives (
  path        TEXT NOT NULL,
  persona     TEXT NOT NULL,
  source_sha  TEXT NOT NULL,
  persona_sha TEXT NOT NULL,
  skill_sha   TEXT NOT NULL,
  text        TEXT NOT NULL,
  job_id      TEXT,
  at          TEXT NOT NULL,
  PRIMARY KEY (path, persona, source_sha, persona_sha, skill_sha)
);

-- Runs -----------------------------------------------------------------------------------------

-- One request, from plan to report.
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
  version       BIGINT NOT NULL,
  -- The process that executes the run; a restarted server resumes the runs it was executing.
  carried_by    TEXT
);
CREATE INDEX runs_newest ON runs (created_at DESC, id DESC);

-- The plan's data about a task, beside the row that workers claim.
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

-- One round of worker and verifier. A released claim keeps its row: its cost was paid.
CREATE TABLE attempts (
  task_id           TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch             BIGINT NOT NULL,
  run_id            TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  attempt           BIGINT NOT NULL,
  phase             TEXT NOT NULL CHECK (phase IN
    ('worker_executing', 'worker_completed', 'qc_executing', 'qc_passed', 'qc_failed', 'abandoned')),
  worker            TEXT NOT NULL,
  is_retry          BIGINT NOT NULL,
  retry_reason      TEXT,
  started_at        TEXT NOT NULL,
  output            TEXT,
  output_characters BIGINT,
  deliverable_hash  TEXT,
  claims            TEXT NOT NULL,
  decisions         TEXT NOT NULL,
  cites             TEXT NOT NULL,
  files_changed     TEXT NOT NULL,
  branch            TEXT,
  commit_id         TEXT,
  worker_ended_at   TEXT,
  duration_ms       BIGINT,
  input_tokens      BIGINT,
  output_tokens     BIGINT,
  tool_calls        BIGINT,
  messages          BIGINT,
  context_tokens    BIGINT,
  cost_usd          DOUBLE PRECISION,
  -- Why the worker was stopped early, and its output until then.
  stopped_because   TEXT,
  partial           TEXT,
  verifier          TEXT,
  -- Open topics on the pages it touches when verification started: further criteria.
  topics            TEXT NOT NULL,
  qc_epoch          BIGINT,
  qc_started_at     TEXT,
  ended_at          TEXT,
  error_context     TEXT,
  -- When the attempt's lessons were written to the wiki; NULL after a crash, so that they are written then.
  learnt_at         TEXT,
  PRIMARY KEY (task_id, epoch)
);
CREATE INDEX attempts_by_run ON attempts (run_id, started_at);

-- Results of the plan's deterministic checks, run by the system on one deliverable.
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

-- A verdict is valid for the deliverable hash it was given on. `said` is the verifier's verdict, `outcome`
-- the verdict after the rules were applied.
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
  -- Numbers of the accepted tasks that caused the fault.
  caused_by        TEXT NOT NULL,
  -- The rules that turned the verdict into FAIL, one sentence each.
  objections       TEXT NOT NULL,
  at               TEXT NOT NULL,
  voided_at        TEXT,
  void_reason      TEXT,
  CHECK (outcome = 'FAIL' OR (said = 'PASS' AND score >= 80))
);
CREATE INDEX verdicts_by_task ON verdicts (task_id, attempt);
CREATE INDEX verdicts_by_run ON verdicts (run_id, at);

-- One agent session: the size of its context by part, the fragments left out as repeats, and its usage.
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

-- Hashes of context fragments that some agent has received.
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
  -- The beginning of the result, which a verdict's evidence is checked against.
  output       TEXT NOT NULL,
  output_bytes BIGINT NOT NULL,
  -- Ids of the nodes and entries in the result.
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

-- The workers of one process on a run: claims, lost races and idle time.
CREATE TABLE run_workers (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,
  workers      BIGINT NOT NULL,
  started_at   TEXT NOT NULL,
  ended_at     TEXT,
  claims       BIGINT NOT NULL,
  conflicts    BIGINT NOT NULL,
  late         BIGINT NOT NULL,
  claim_p50_ms DOUBLE PRECISION NOT NULL,
  claim_p99_ms DOUBLE PRECISION NOT NULL,
  idle_ms      BIGINT NOT NULL,
  busy_ms      BIGINT NOT NULL
);
CREATE INDEX run_workers_by_run ON run_workers (run_id);

-- Search ---------------------------------------------------------------------------------------

-- Changes that are not indexed yet. Each change gets a new ticket, so that an indexer that worked on an
-- earlier state cannot remove a later one.
CREATE TABLE search_queue (
  ticket BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind   TEXT NOT NULL,
  thing  TEXT NOT NULL
);

-- Everything that search can find, of any kind.
CREATE TABLE things (
  num    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind   TEXT NOT NULL,
  id     TEXT NOT NULL,
  title  TEXT NOT NULL,
  author TEXT NOT NULL,
  at     TEXT NOT NULL,
  run    TEXT NOT NULL,
  -- The type of a node; for other kinds the kind.
  type   TEXT NOT NULL,
  UNIQUE (kind, id)
);

-- Parts of things as they are displayed; passage_text has them as they are indexed.
CREATE TABLE passages (
  num     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thing   BIGINT NOT NULL REFERENCES things (num) ON DELETE CASCADE,
  part    BIGINT NOT NULL,
  heading TEXT NOT NULL,
  line    BIGINT NOT NULL,
  body    TEXT NOT NULL,
  -- Hashes of the embedded text and of everything indexed: an unchanged passage is skipped.
  hash    TEXT NOT NULL,
  state   TEXT NOT NULL
);
CREATE INDEX passages_of_thing ON passages (thing, part);
CREATE INDEX passages_by_hash ON passages (hash);

-- A table of its own, so that ranking many passages reads few pages.
CREATE TABLE passage_text (
  rowid  BIGINT PRIMARY KEY REFERENCES passages (num) ON DELETE CASCADE,
  length BIGINT NOT NULL,
  words  TSVECTOR NOT NULL
) WITH (toast_tuple_target = 8160);
-- Stored inline: looking up a word in a TOASTed vector costs twenty times as much.
ALTER TABLE passage_text ALTER COLUMN words SET STORAGE MAIN;
CREATE INDEX passage_text_words ON passage_text USING GIN (words) WITH (fastupdate = off);

CREATE TABLE passage_links (
  passage BIGINT NOT NULL REFERENCES passages (num) ON DELETE CASCADE,
  target  TEXT NOT NULL,
  PRIMARY KEY (passage, target)
);
CREATE INDEX passage_links_to ON passage_links (target, passage);

-- All indexed words, for spelling correction.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY);

-- Embeddings by the hash of their text, so that equal texts are embedded once. Readers that cache vectors
-- read those after the last seq they know. A vector is deleted with the last passage that has its text.
CREATE TABLE vectors (
  seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  vector BYTEA NOT NULL,
  UNIQUE (model, hash)
);
CREATE INDEX vectors_by_hash ON vectors (hash);

-- Triggers that fill search_queue --------------------------------------------------------------

-- Only inserts, so that two writers never wait for each other here.
CREATE FUNCTION search_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_queue (kind, thing)
  VALUES (TG_ARGV[0], CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END ->> TG_ARGV[1]);
  RETURN NULL;
END $$;

CREATE TRIGGER entries_search_new AFTER INSERT OR DELETE ON entries
  FOR EACH ROW EXECUTE FUNCTION search_changed('entry', 'id');
CREATE TRIGGER entries_search_changed AFTER UPDATE OF version, title ON entries
  FOR EACH ROW EXECUTE FUNCTION search_changed('entry', 'id');

CREATE TRIGGER sources_search AFTER INSERT OR UPDATE OR DELETE ON sources
  FOR EACH ROW EXECUTE FUNCTION search_changed('source', 'path');

-- Claims and heartbeats update tasks all the time: only columns that are indexed count, and completing a
-- task does not convert its row to JSON as search_changed() would.
CREATE FUNCTION task_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_queue (kind, thing) VALUES ('task', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tasks_search_new AFTER INSERT OR DELETE ON tasks
  FOR EACH ROW EXECUTE FUNCTION search_changed('task', 'id');
CREATE TRIGGER tasks_search_changed AFTER UPDATE OF title, description, result ON tasks
  FOR EACH ROW WHEN (OLD.title <> NEW.title OR OLD.description <> NEW.description OR OLD.result <> NEW.result)
  EXECUTE FUNCTION task_text_changed();

CREATE TRIGGER nodes_search_new AFTER INSERT OR DELETE ON nodes
  FOR EACH ROW EXECUTE FUNCTION search_changed('node', 'id');
CREATE TRIGGER nodes_search_changed AFTER UPDATE OF title, properties ON nodes
  FOR EACH ROW EXECUTE FUNCTION search_changed('node', 'id');

-- A topic is indexed by its messages.
CREATE TRIGGER messages_search AFTER INSERT OR UPDATE OF text ON messages
  FOR EACH ROW EXECUTE FUNCTION search_changed('topic', 'topic_id');
CREATE TRIGGER topics_search AFTER DELETE OR UPDATE OF status, path ON topics
  FOR EACH ROW EXECUTE FUNCTION search_changed('topic', 'id');

-- Outputs and verdicts are found on their own, not through their task.
CREATE FUNCTION search_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO search_queue (kind, thing) VALUES ('output', OLD.task_id || '/' || OLD.epoch);
  ELSE
    INSERT INTO search_queue (kind, thing) VALUES ('output', NEW.task_id || '/' || NEW.epoch);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER attempts_search_new AFTER INSERT ON attempts
  FOR EACH ROW WHEN (NEW.output IS NOT NULL) EXECUTE FUNCTION search_attempt();
CREATE TRIGGER attempts_search_changed AFTER UPDATE OF output, decisions, worker_ended_at ON attempts
  FOR EACH ROW WHEN (OLD.output IS DISTINCT FROM NEW.output OR OLD.decisions <> NEW.decisions
    OR OLD.worker_ended_at IS DISTINCT FROM NEW.worker_ended_at) EXECUTE FUNCTION search_attempt();
CREATE TRIGGER attempts_search_gone AFTER DELETE ON attempts
  FOR EACH ROW EXECUTE FUNCTION search_attempt();
CREATE TRIGGER verdicts_search_new AFTER INSERT OR DELETE ON verdicts
  FOR EACH ROW EXECUTE FUNCTION search_changed('verdict', 'id');
CREATE TRIGGER verdicts_search_changed AFTER UPDATE OF voided_at ON verdicts
  FOR EACH ROW EXECUTE FUNCTION search_changed('verdict', 'id');
