-- Trust of passages: computed from the record (src/trust/), kept up to date by following the event log.

-- Events that can change the trust of a passage and were not looked at yet.
CREATE TABLE trust_queue (
  ticket BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL
);

-- The pages whose passages are known: up to which version, and how many passages are in each state.
CREATE TABLE trust_subjects (
  subject TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  -- JSON: number of passages by state.
  counts  TEXT NOT NULL
);

-- Passages of pages, by the hash of heading and text. One that is gone from its page is kept: text that is put back
-- by a revert gets its writer back.
CREATE TABLE passage_trust (
  subject       TEXT NOT NULL,
  hash          TEXT NOT NULL,
  heading       TEXT NOT NULL,
  text          TEXT NOT NULL,
  gone          INTEGER NOT NULL CHECK (gone IN (0, 1)),
  -- The passage that this one replaced.
  before        TEXT,
  state         TEXT NOT NULL,
  -- JSON: why the state is what it is.
  causes        TEXT NOT NULL,
  -- The verified state that was lost, if any.
  lost          TEXT,
  since         TEXT NOT NULL,
  -- The version that wrote it.
  how           TEXT NOT NULL,
  author        TEXT NOT NULL,
  role          TEXT,
  run           TEXT,
  task          TEXT,
  epoch         BIGINT,
  version       INTEGER NOT NULL,
  written_at    TEXT NOT NULL,
  approved_by   TEXT,
  verified_by   TEXT,
  verified_at   TEXT,
  -- JSON: what it cites.
  refs          TEXT NOT NULL,
  stale_after   TEXT,
  -- 1 once it was compared with passages that say something alike.
  compared      INTEGER NOT NULL DEFAULT 0 CHECK (compared IN (0, 1)),
  PRIMARY KEY (subject, hash)
);
CREATE INDEX passage_trust_hashes ON passage_trust (hash);
CREATE INDEX passage_trust_new ON passage_trust (subject) WHERE compared = 0;
CREATE INDEX passage_trust_states ON passage_trust (state, since);
CREATE INDEX passage_trust_tasks ON passage_trust (task) WHERE task IS NOT NULL;
CREATE INDEX passage_trust_runs ON passage_trust (run) WHERE run IS NOT NULL;
CREATE INDEX passage_trust_stale ON passage_trust (stale_after) WHERE stale_after IS NOT NULL;

-- What people and agents said about a passage.
CREATE TABLE passage_decisions (
  id          TEXT PRIMARY KEY,
  subject     TEXT NOT NULL,
  hash        TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('verify', 'dispute', 'question')),
  by_name     TEXT NOT NULL,
  note        TEXT NOT NULL,
  at          TEXT NOT NULL,
  stale_after TEXT,
  topic_id    TEXT
);
CREATE INDEX passage_decisions_of ON passage_decisions (subject, hash);

-- What a verified passage cites, as it was when the passage was verified.
CREATE TABLE cited_sources (
  subject    TEXT NOT NULL,
  hash       TEXT NOT NULL,
  ref        TEXT NOT NULL,
  -- Empty: the whole source.
  lines      TEXT NOT NULL,
  seen       TEXT NOT NULL,
  seen_at    TEXT NOT NULL,
  -- Set when it was found changed or gone.
  trouble    TEXT,
  trouble_at TEXT,
  PRIMARY KEY (subject, hash, ref, lines)
);
CREATE INDEX cited_sources_by_ref ON cited_sources (ref);

-- Pairs of passages that say the same with other values, in both directions.
CREATE TABLE contradictions (
  subject       TEXT NOT NULL,
  hash          TEXT NOT NULL,
  other_subject TEXT NOT NULL,
  other_hash    TEXT NOT NULL,
  says          TEXT NOT NULL,
  PRIMARY KEY (subject, hash, other_subject, other_hash)
);
CREATE INDEX contradictions_by_other ON contradictions (other_subject, other_hash);

-- Only inserts, so that two writers never wait for each other here.
CREATE FUNCTION trust_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trust_queue (kind, subject) VALUES (NEW.kind, NEW.subject);
  RETURN NULL;
END $$;
CREATE TRIGGER events_trust AFTER INSERT ON events FOR EACH ROW WHEN (NEW.kind IN (
  'entry-committed', 'entry-appended', 'entry-edited', 'entry-recovered', 'section-renamed', 'index-rebuilt',
  'index-repaired', 'page-written', 'page-edited', 'page-moved', 'page-removed', 'page-relinked', 'source-gone',
  'source-replaced', 'task-overturn', 'task-accept', 'verdict-voided', 'run-reverted',
  'passage-verified', 'passage-disputed', 'topic-resolved', 'topic-reopened'
))
  EXECUTE FUNCTION trust_changed();

-- What is written already.
INSERT INTO trust_queue (kind, subject) SELECT 'entry-committed', 'entry:' || id FROM entries;
