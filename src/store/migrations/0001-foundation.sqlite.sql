CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE events (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  at      TEXT NOT NULL,
  actor   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  data    TEXT NOT NULL
);

CREATE TABLE entries (
  num         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  version     INTEGER NOT NULL CHECK (version >= 1),
  blob        TEXT NOT NULL,
  last_author TEXT NOT NULL,
  title       TEXT,
  words       INTEGER NOT NULL,
  updated_at  TEXT NOT NULL,
  stat        TEXT NOT NULL,
  indexed     INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE entry_versions (
  entry_id TEXT NOT NULL,
  version  INTEGER NOT NULL,
  blob     TEXT NOT NULL,
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

CREATE VIRTUAL TABLE entry_text USING fts5 (title, body, tokenize = 'porter unicode61 remove_diacritics 2');

CREATE TABLE git_queue (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  path       TEXT NOT NULL,
  blob       TEXT NOT NULL,
  base       TEXT,
  content    BLOB,
  appended   INTEGER NOT NULL,
  author     TEXT NOT NULL,
  by_person  INTEGER NOT NULL,
  message    TEXT NOT NULL,
  at         TEXT NOT NULL,
  in_history INTEGER NOT NULL DEFAULT 0
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

CREATE TABLE sources (
  path     TEXT PRIMARY KEY,
  sha256   TEXT NOT NULL,
  size     INTEGER NOT NULL,
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
