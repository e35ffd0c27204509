-- The whole schema. Times are ISO 8601 text unless a comment says otherwise, JSON is text, booleans are 0 and 1.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

-- Events ---------------------------------------------------------------------------------------

CREATE TABLE events (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  at      TEXT NOT NULL,
  actor   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  data    TEXT NOT NULL
);

-- Entries --------------------------------------------------------------------------------------

CREATE TABLE entries (
  num         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  version     INTEGER NOT NULL CHECK (version >= 1),
  -- The git blob id of the file's bytes.
  blob        TEXT NOT NULL,
  last_author TEXT NOT NULL,
  title       TEXT,
  words       INTEGER NOT NULL,
  updated_at  TEXT NOT NULL,
  -- The file's stat when `blob` was computed; empty in the database store.
  stat        TEXT NOT NULL,
  indexed     INTEGER NOT NULL DEFAULT 0,
  -- The node ids that the text links to, as a JSON array; NULL until the text has been parsed.
  links       TEXT
);
CREATE INDEX entries_unread ON entries (num) WHERE links IS NULL;

CREATE TABLE entry_versions (
  entry_id TEXT NOT NULL,
  version  INTEGER NOT NULL,
  blob     TEXT NOT NULL,
  -- In the database store the text, or the appended part if `appended`; the file store has it in git.
  content  TEXT,
  appended INTEGER NOT NULL,
  author   TEXT NOT NULL,
  role     TEXT,
  run      TEXT,
  task     TEXT,
  epoch    INTEGER,
  at       TEXT NOT NULL,
  summary  TEXT NOT NULL,
  PRIMARY KEY (entry_id, version)
) WITHOUT ROWID;

-- entries.links as rows, indexed in both directions. Triggers maintain it, so that no write path can miss it.
CREATE TABLE entry_links (
  entry_id TEXT NOT NULL,
  to_id    TEXT NOT NULL,
  PRIMARY KEY (entry_id, to_id)
) WITHOUT ROWID;
CREATE INDEX entry_links_in ON entry_links (to_id, entry_id);
CREATE TRIGGER entry_links_added AFTER INSERT ON entries WHEN NEW.links IS NOT NULL BEGIN
  INSERT INTO entry_links SELECT NEW.id, value FROM json_each(NEW.links);
END;
CREATE TRIGGER entry_links_changed AFTER UPDATE OF links ON entries WHEN NEW.links IS NOT OLD.links BEGIN
  DELETE FROM entry_links
  WHERE entry_id = NEW.id AND to_id NOT IN (SELECT value FROM json_each(coalesce(NEW.links, '[]')));
  -- Not OR IGNORE: the conflict clause of the outer statement overrides the one in its trigger.
  INSERT INTO entry_links SELECT NEW.id, value FROM json_each(coalesce(NEW.links, '[]'))
    WHERE NOT EXISTS (SELECT 1 FROM entry_links WHERE entry_id = NEW.id AND to_id = value);
END;
CREATE TRIGGER entry_links_gone AFTER DELETE ON entries BEGIN
  DELETE FROM entry_links WHERE entry_id = OLD.id;
END;

-- The tasks that wrote an entry, each with the last version it wrote.
CREATE TABLE entry_writers (
  entry_id TEXT NOT NULL,
  task     TEXT NOT NULL,
  epoch    INTEGER,
  attempt  INTEGER,
  version  INTEGER NOT NULL,
  role     TEXT,
  at       TEXT NOT NULL,
  PRIMARY KEY (entry_id, task)
) WITHOUT ROWID;
CREATE INDEX entry_writers_by_task ON entry_writers (task, entry_id);
CREATE TRIGGER entry_writers_added AFTER INSERT ON entry_versions WHEN NEW.task IS NOT NULL BEGIN
  INSERT INTO entry_writers (entry_id, task, epoch, attempt, version, role, at)
  VALUES (NEW.entry_id, NEW.task, NEW.epoch,
          (SELECT attempt FROM tasks WHERE id = NEW.task AND epoch = NEW.epoch), NEW.version, NEW.role, NEW.at)
  ON CONFLICT (entry_id, task) DO UPDATE SET
    epoch = excluded.epoch, attempt = excluded.attempt, version = excluded.version, role = excluded.role, at = excluded.at;
END;
CREATE TRIGGER entry_writers_gone AFTER DELETE ON entry_versions WHEN OLD.task IS NOT NULL BEGIN
  DELETE FROM entry_writers WHERE entry_id = OLD.entry_id AND task = OLD.task;
END;

-- File versions that are not in git yet.
CREATE TABLE git_queue (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  path       TEXT NOT NULL,
  blob       TEXT NOT NULL,
  -- The blob of the version before.
  base       TEXT,
  -- The bytes, or those after `base` if `appended`; NULL once git has them.
  content    BLOB,
  appended   INTEGER NOT NULL,
  author     TEXT NOT NULL,
  by_person  INTEGER NOT NULL,
  message    TEXT NOT NULL,
  at         TEXT NOT NULL,
  in_history INTEGER NOT NULL DEFAULT 0,
  -- A commit to the person's branch replaces only this blob; NULL replaces any.
  only_on    TEXT
);

CREATE TABLE handoffs (
  id        TEXT PRIMARY KEY,
  run       TEXT NOT NULL,
  step      INTEGER NOT NULL,
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
  size     INTEGER NOT NULL,
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
  num           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,
  run           TEXT,
  title         TEXT NOT NULL,
  description   TEXT NOT NULL,
  state         TEXT NOT NULL,
  priority      INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  max_retries   INTEGER NOT NULL,
  -- Dependencies that are not completed; decremented as they complete.
  blockers_left INTEGER NOT NULL CHECK (blockers_left >= 0),
  -- Dependencies that failed, were cancelled, or cannot start because of one that did.
  lost_blockers INTEGER NOT NULL CHECK (lost_blockers >= 0),
  epoch         INTEGER NOT NULL,
  holder        TEXT,
  -- Milliseconds of the database's clock, like lease_until.
  claimed_at    INTEGER,
  lease_until   INTEGER,
  result        TEXT NOT NULL,
  version       INTEGER NOT NULL,
  created_at    TEXT NOT NULL,
  created_by    TEXT NOT NULL,
  updated_at    TEXT NOT NULL,
  -- Position in the queue, in milliseconds: the creation time minus one minute per point of priority.
  -- Tasks created together are ordered by priority, and a low priority delays a task only for so long.
  turn_at       INTEGER NOT NULL DEFAULT 0,
  -- 1 once another task depends on this one. It is in this row so that the write that completes the task
  -- reads it, and cannot miss a dependent that is created at the same moment.
  awaited       INTEGER NOT NULL DEFAULT 0,
  CHECK ((holder IS NULL) = (lease_until IS NULL))
);
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
) WITHOUT ROWID;
CREATE INDEX task_dependents ON task_dependencies (depends_on, task_id);

-- Maximum number of tasks of a run that are claimed at once; a run without a row has no limit.
CREATE TABLE run_limits (
  run      TEXT PRIMARY KEY,
  max_held INTEGER NOT NULL CHECK (max_held > 0)
) WITHOUT ROWID;

-- Graph ----------------------------------------------------------------------------------------

CREATE TABLE nodes (
  num        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  type       TEXT NOT NULL,
  title      TEXT NOT NULL,
  properties TEXT NOT NULL,
  version    INTEGER NOT NULL CHECK (version >= 1),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  -- Role, run and claim of the last write.
  role       TEXT,
  run        TEXT,
  task       TEXT,
  epoch      INTEGER,
  attempt    INTEGER
);
CREATE INDEX nodes_by_type ON nodes (type, num);
CREATE INDEX nodes_by_task ON nodes (task, id) WHERE task IS NOT NULL;

-- The ends are not foreign keys: edges also lead to entries, tasks and topics.
CREATE TABLE edges (
  num        INTEGER PRIMARY KEY AUTOINCREMENT,
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
  epoch      INTEGER,
  attempt    INTEGER,
  UNIQUE (from_id, to_id, type)
);
CREATE INDEX edges_out ON edges (from_id, num);
CREATE INDEX edges_in ON edges (to_id, num);

-- Property values of nodes, which PostgreSQL has in nodes_data. True and false are blobs, distinct from 1
-- and 0. Texts over 200 characters are not indexed; a query for one scans the nodes.
CREATE TABLE node_props (
  name  TEXT NOT NULL,
  value NOT NULL,
  node  INTEGER NOT NULL,
  type  TEXT NOT NULL,
  PRIMARY KEY (name, value, node)
) WITHOUT ROWID;
CREATE TRIGGER node_props_added AFTER INSERT ON nodes BEGIN
  INSERT INTO node_props
    SELECT key, CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END, NEW.num, NEW.type
    FROM json_each(NEW.properties)
    WHERE type IN ('true', 'false', 'integer', 'real') OR (type = 'text' AND length(atom) <= 200);
END;
CREATE TRIGGER node_props_changed AFTER UPDATE OF properties ON nodes BEGIN
  DELETE FROM node_props WHERE (name, value, node) IN (
    SELECT key, CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END, OLD.num
    FROM json_each(OLD.properties) WHERE type NOT IN ('null', 'array', 'object'));
  INSERT INTO node_props
    SELECT key, CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END, NEW.num, NEW.type
    FROM json_each(NEW.properties)
    WHERE type IN ('true', 'false', 'integer', 'real') OR (type = 'text' AND length(atom) <= 200);
END;
CREATE TRIGGER node_props_gone AFTER DELETE ON nodes BEGIN
  DELETE FROM node_props WHERE (name, value, node) IN (
    SELECT key, CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END, OLD.num
    FROM json_each(OLD.properties) WHERE type NOT IN ('null', 'array', 'object'));
END;

-- Topics ---------------------------------------------------------------------------------------

CREATE TABLE topics (
  id           TEXT PRIMARY KEY,
  path         TEXT NOT NULL,
  -- The graph node of its entry or page.
  about        TEXT,
  kind         TEXT NOT NULL CHECK (kind IN ('change', 'question')),
  status       TEXT NOT NULL CHECK (status IN ('open', 'resolved')),
  -- The highest sequence number of its messages.
  messages     INTEGER NOT NULL,
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
  seq         INTEGER NOT NULL CHECK (seq > 0),
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
) WITHOUT ROWID;

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
  budget_tokens INTEGER,
  budget_usd    REAL,
  reason        TEXT,
  created_at    TEXT NOT NULL,
  created_by    TEXT NOT NULL,
  planned_at    TEXT,
  started_at    TEXT,
  ended_at      TEXT,
  version       INTEGER NOT NULL,
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
  estimated_tool_calls INTEGER,
  model                TEXT,
  notes                TEXT NOT NULL,
  failure              TEXT,
  UNIQUE (run_id, number)
);

-- One round of worker and verifier. A released claim keeps its row: its cost was paid.
CREATE TABLE attempts (
  task_id           TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch             INTEGER NOT NULL,
  run_id            TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  attempt           INTEGER NOT NULL,
  phase             TEXT NOT NULL CHECK (phase IN
    ('worker_executing', 'worker_completed', 'qc_executing', 'qc_passed', 'qc_failed', 'abandoned')),
  worker            TEXT NOT NULL,
  is_retry          INTEGER NOT NULL,
  retry_reason      TEXT,
  started_at        TEXT NOT NULL,
  output            TEXT,
  output_characters INTEGER,
  deliverable_hash  TEXT,
  claims            TEXT NOT NULL,
  decisions         TEXT NOT NULL,
  cites             TEXT NOT NULL,
  files_changed     TEXT NOT NULL,
  branch            TEXT,
  commit_id         TEXT,
  worker_ended_at   TEXT,
  duration_ms       INTEGER,
  input_tokens      INTEGER,
  output_tokens     INTEGER,
  tool_calls        INTEGER,
  messages          INTEGER,
  context_tokens    INTEGER,
  cost_usd          REAL,
  -- Why the worker was stopped early, and its output until then.
  stopped_because   TEXT,
  partial           TEXT,
  verifier          TEXT,
  -- Open topics on the pages it touches when verification started: further criteria.
  topics            TEXT NOT NULL,
  qc_epoch          INTEGER,
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
  epoch            INTEGER NOT NULL,
  criterion        INTEGER NOT NULL,
  deliverable_hash TEXT NOT NULL,
  passed           INTEGER NOT NULL,
  detail           TEXT NOT NULL,
  duration_ms      INTEGER NOT NULL,
  at               TEXT NOT NULL,
  PRIMARY KEY (task_id, epoch, criterion, deliverable_hash)
);

-- A verdict is valid for the deliverable hash it was given on. `said` is the verifier's verdict, `outcome`
-- the verdict after the rules were applied.
CREATE TABLE verdicts (
  id               TEXT PRIMARY KEY,
  run_id           TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  task_id          TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch            INTEGER NOT NULL,
  attempt          INTEGER NOT NULL,
  deliverable_hash TEXT NOT NULL,
  verifier         TEXT NOT NULL,
  said             TEXT NOT NULL CHECK (said IN ('PASS', 'FAIL')),
  outcome          TEXT NOT NULL CHECK (outcome IN ('PASS', 'FAIL')),
  score            INTEGER NOT NULL CHECK (score BETWEEN 0 AND 100),
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
  epoch              INTEGER,
  attempt            INTEGER,
  part               TEXT NOT NULL CHECK (part IN ('brief', 'pm', 'preamble', 'worker', 'qc', 'reporter')),
  agent              TEXT NOT NULL,
  runner             TEXT NOT NULL,
  model              TEXT,
  characters         INTEGER NOT NULL,
  tokens             INTEGER NOT NULL,
  parts              TEXT NOT NULL,
  repeats            INTEGER NOT NULL,
  repeat_characters  INTEGER NOT NULL,
  removed_characters INTEGER NOT NULL,
  started_at         TEXT NOT NULL,
  ended_at           TEXT,
  ended              TEXT,
  input_tokens       INTEGER,
  output_tokens      INTEGER,
  cache_read_tokens  INTEGER,
  cache_write_tokens INTEGER,
  tool_calls         INTEGER,
  messages           INTEGER,
  cost_usd           REAL
);
CREATE INDEX contexts_by_run ON contexts (run_id, started_at);
CREATE INDEX contexts_by_task ON contexts (task_id) WHERE task_id IS NOT NULL;

-- Hashes of context fragments that some agent has received.
CREATE TABLE fingerprints (
  hash       TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  characters INTEGER NOT NULL,
  first_seen TEXT NOT NULL,
  first_run  TEXT NOT NULL,
  uses       INTEGER NOT NULL
);

CREATE TABLE tool_calls (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  context_id   TEXT REFERENCES contexts (id) ON DELETE CASCADE,
  task_id      TEXT REFERENCES tasks (id) ON DELETE CASCADE,
  epoch        INTEGER,
  part         TEXT NOT NULL,
  name         TEXT NOT NULL,
  ok           INTEGER NOT NULL,
  input        TEXT NOT NULL,
  -- The beginning of the result, which a verdict's evidence is checked against.
  output       TEXT NOT NULL,
  output_bytes INTEGER NOT NULL,
  -- Ids of the nodes and entries in the result.
  retrieved    TEXT NOT NULL,
  duration_ms  INTEGER NOT NULL,
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
  epoch           INTEGER,
  part            TEXT NOT NULL,
  model           TEXT,
  state           TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'released')),
  reserved_tokens INTEGER NOT NULL,
  reserved_usd    REAL,
  tokens          INTEGER,
  usd             REAL,
  at              TEXT NOT NULL,
  settled_at      TEXT
);
CREATE INDEX spends_by_run ON spends (run_id, state);
CREATE INDEX spends_by_task ON spends (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE questions (
  id          TEXT PRIMARY KEY,
  run_id      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  epoch       INTEGER NOT NULL,
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
  uses    INTEGER NOT NULL
);

-- The workers of one process on a run: claims, lost races and idle time.
CREATE TABLE run_workers (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,
  workers      INTEGER NOT NULL,
  started_at   TEXT NOT NULL,
  ended_at     TEXT,
  claims       INTEGER NOT NULL,
  conflicts    INTEGER NOT NULL,
  late         INTEGER NOT NULL,
  claim_p50_ms REAL NOT NULL,
  claim_p99_ms REAL NOT NULL,
  idle_ms      INTEGER NOT NULL,
  busy_ms      INTEGER NOT NULL
);
CREATE INDEX run_workers_by_run ON run_workers (run_id);

-- Search ---------------------------------------------------------------------------------------

-- Changes that are not indexed yet. Each change gets a new ticket, so that an indexer that worked on an
-- earlier state cannot remove a later one.
CREATE TABLE search_queue (
  ticket INTEGER PRIMARY KEY AUTOINCREMENT,
  kind   TEXT NOT NULL,
  thing  TEXT NOT NULL
);

-- Everything that search can find, of any kind.
CREATE TABLE things (
  num    INTEGER PRIMARY KEY AUTOINCREMENT,
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
  num     INTEGER PRIMARY KEY AUTOINCREMENT,
  thing   INTEGER NOT NULL REFERENCES things (num) ON DELETE CASCADE,
  part    INTEGER NOT NULL,
  heading TEXT NOT NULL,
  line    INTEGER NOT NULL,
  body    TEXT NOT NULL,
  -- Hashes of the embedded text and of everything indexed: an unchanged passage is skipped.
  hash    TEXT NOT NULL,
  state   TEXT NOT NULL
);
CREATE INDEX passages_of_thing ON passages (thing, part);
CREATE INDEX passages_by_hash ON passages (hash);

-- Not contentless: a contentless FTS5 table keeps counting deleted passages in its ranking.
CREATE VIRTUAL TABLE passage_text USING fts5 (
  title, body, near, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE passage_links (
  passage INTEGER NOT NULL REFERENCES passages (num) ON DELETE CASCADE,
  target  TEXT NOT NULL,
  PRIMARY KEY (passage, target)
) WITHOUT ROWID;
CREATE INDEX passage_links_to ON passage_links (target, passage);

-- All indexed words, for spelling correction.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY) WITHOUT ROWID;

-- Embeddings by the hash of their text, so that equal texts are embedded once. Readers that cache vectors
-- read those after the last seq they know. A vector is deleted with the last passage that has its text.
CREATE TABLE vectors (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  model  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (model, hash)
);
CREATE INDEX vectors_by_hash ON vectors (hash);

-- Triggers that fill search_queue --------------------------------------------------------------

CREATE TRIGGER entries_search_new AFTER INSERT ON entries
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('entry', new.id); END;
CREATE TRIGGER entries_search_changed AFTER UPDATE OF version, title ON entries
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('entry', new.id); END;
CREATE TRIGGER entries_search_gone AFTER DELETE ON entries
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('entry', old.id); END;

CREATE TRIGGER sources_search_new AFTER INSERT ON sources
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('source', new.path); END;
CREATE TRIGGER sources_search_changed AFTER UPDATE ON sources
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('source', new.path); END;
CREATE TRIGGER sources_search_gone AFTER DELETE ON sources
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('source', old.path); END;

-- Claims and heartbeats update tasks all the time: only columns that are indexed count.
CREATE TRIGGER tasks_search_new AFTER INSERT ON tasks
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('task', new.id); END;
CREATE TRIGGER tasks_search_changed AFTER UPDATE OF title, description, result ON tasks
WHEN old.title <> new.title OR old.description <> new.description OR old.result <> new.result
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('task', new.id); END;
CREATE TRIGGER tasks_search_gone AFTER DELETE ON tasks
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('task', old.id); END;

CREATE TRIGGER nodes_search_new AFTER INSERT ON nodes
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('node', new.id); END;
CREATE TRIGGER nodes_search_changed AFTER UPDATE OF title, properties ON nodes
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('node', new.id); END;
CREATE TRIGGER nodes_search_gone AFTER DELETE ON nodes
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('node', old.id); END;

-- A topic is indexed by its messages.
CREATE TRIGGER messages_search_new AFTER INSERT ON messages
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', new.topic_id); END;
CREATE TRIGGER messages_search_changed AFTER UPDATE OF text ON messages
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', new.topic_id); END;
CREATE TRIGGER topics_search_changed AFTER UPDATE OF status, path ON topics
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', new.id); END;
CREATE TRIGGER topics_search_gone AFTER DELETE ON topics
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', old.id); END;

-- Outputs and verdicts are found on their own, not through their task.
CREATE TRIGGER attempts_search_new AFTER INSERT ON attempts WHEN new.output IS NOT NULL
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('output', new.task_id || '/' || new.epoch); END;
CREATE TRIGGER attempts_search_changed AFTER UPDATE OF output, decisions, worker_ended_at ON attempts
WHEN old.output IS NOT new.output OR old.decisions <> new.decisions OR old.worker_ended_at IS NOT new.worker_ended_at
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('output', new.task_id || '/' || new.epoch); END;
CREATE TRIGGER attempts_search_gone AFTER DELETE ON attempts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('output', old.task_id || '/' || old.epoch); END;
CREATE TRIGGER verdicts_search_new AFTER INSERT ON verdicts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('verdict', new.id); END;
CREATE TRIGGER verdicts_search_changed AFTER UPDATE OF voided_at ON verdicts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('verdict', new.id); END;
CREATE TRIGGER verdicts_search_gone AFTER DELETE ON verdicts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('verdict', old.id); END;
