CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE events (
  seq     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      TEXT NOT NULL,
  actor   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  data    TEXT NOT NULL,
  -- A sequence is handed out before its transaction commits. Readers therefore go by
  -- (xid, seq) and stop at the oldest transaction still running: none is ever passed over.
  xid     XID8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX events_in_order ON events (xid, seq);

CREATE TABLE entries (
  num         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  version     BIGINT NOT NULL CHECK (version >= 1),
  blob        TEXT NOT NULL,
  last_author TEXT NOT NULL,
  title       TEXT,
  words       BIGINT NOT NULL,
  updated_at  TEXT NOT NULL,
  stat        TEXT NOT NULL,
  indexed     BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE entry_versions (
  entry_id TEXT NOT NULL,
  version  BIGINT NOT NULL,
  blob     TEXT NOT NULL,
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

CREATE TABLE entry_text (
  rowid BIGINT PRIMARY KEY,
  title TEXT NOT NULL,
  body  TEXT NOT NULL,
  words TSVECTOR GENERATED ALWAYS AS (
    setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', left(body, 500000)), 'C')
  ) STORED
);
CREATE INDEX entry_text_words ON entry_text USING GIN (words);

CREATE TABLE git_queue (
  seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  path       TEXT NOT NULL,
  blob       TEXT NOT NULL,
  base       TEXT,
  content    BYTEA,
  appended   BIGINT NOT NULL,
  author     TEXT NOT NULL,
  by_person  BIGINT NOT NULL,
  message    TEXT NOT NULL,
  at         TEXT NOT NULL,
  in_history BIGINT NOT NULL DEFAULT 0
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

CREATE TABLE sources (
  path     TEXT PRIMARY KEY,
  sha256   TEXT NOT NULL,
  size     BIGINT NOT NULL,
  added_by TEXT NOT NULL,
  at       TEXT NOT NULL
);

CREATE TABLE proposals (
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,
  subject     TEXT NOT NULL,
  data        TEXT NOT NULL,
  proposed_by TEXT,
  status      TEXT NOT NULL CHECK (status IN ('open', 'approved', 'rejected')),
  created_at  TEXT NOT NULL,
  decided_at  TEXT,
  decided_by  TEXT,
  note        TEXT,
  CHECK ((status = 'open') = (decided_at IS NULL))
);
CREATE UNIQUE INDEX proposals_one_open ON proposals (kind, subject) WHERE status = 'open';

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

CREATE FUNCTION tell_listeners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('scriptorium', '');
  RETURN NULL;
END $$;
CREATE TRIGGER events_tell AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION tell_listeners();
