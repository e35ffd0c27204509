-- The names that a message mentions, resolved when it was written.
CREATE TABLE mentions (
  topic_id TEXT NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  -- Of the message.
  seq      INTEGER NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('person', 'agent')),
  name     TEXT NOT NULL,
  PRIMARY KEY (topic_id, seq, kind, name)
);
CREATE INDEX mentions_by_name ON mentions (name);

-- The person who is to deal with a topic.
CREATE TABLE assignments (
  -- topic:<id>
  subject     TEXT PRIMARY KEY,
  person      TEXT NOT NULL,
  assigned_by TEXT NOT NULL,
  assigned_at TEXT NOT NULL
);
CREATE INDEX assignments_by_person ON assignments (person);

-- How far a person has read. The subject is topic:<id> (seq: of the message), notices (seq: of the event), or
-- everything (only the time counts).
CREATE TABLE read_marks (
  person  TEXT NOT NULL,
  subject TEXT NOT NULL,
  seq     BIGINT NOT NULL,
  read_at TEXT NOT NULL,
  PRIMARY KEY (person, subject)
);

-- The events behind notifications. src/store/queries/notice-events.ts has the same list.
CREATE INDEX events_of_notices ON events (seq) WHERE kind IN (
  'topic-mentioned', 'topic-assigned', 'proposal-opened', 'proposal-approved', 'proposal-rejected',
  'question-passed-on', 'question-answered', 'gate-reached', 'gate-approved', 'gate-returned', 'files-held',
  'files-allowed', 'files-refused', 'run-fail', 'run-finish', 'run-stop', 'run-start', 'run-closed', 'run-reopen'
);
