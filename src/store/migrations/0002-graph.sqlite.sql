CREATE TABLE nodes (
  num        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  type       TEXT NOT NULL,
  title      TEXT NOT NULL,
  properties TEXT NOT NULL,
  version    INTEGER NOT NULL CHECK (version >= 1),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  created_by TEXT NOT NULL
);
CREATE INDEX nodes_by_type ON nodes (type, num);

CREATE VIRTUAL TABLE node_text USING fts5 (title, body, tokenize = 'porter unicode61 remove_diacritics 2');

CREATE TABLE edges (
  num        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  type       TEXT NOT NULL,
  from_id    TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  to_id      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  properties TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  UNIQUE (from_id, to_id, type)
);
CREATE INDEX edges_out ON edges (from_id, num);
CREATE INDEX edges_in ON edges (to_id, num);
