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
  -- The same as properties, read once when it is written and not again by every query.
  data       JSONB GENERATED ALWAYS AS (properties::jsonb) STORED
);
CREATE INDEX nodes_by_type ON nodes (type, num);
CREATE INDEX nodes_data ON nodes USING GIN (data jsonb_path_ops);

CREATE TABLE node_text (
  rowid BIGINT PRIMARY KEY,
  title TEXT NOT NULL,
  body  TEXT NOT NULL,
  words TSVECTOR GENERATED ALWAYS AS (
    setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', body), 'C')
  ) STORED
);
CREATE INDEX node_text_words ON node_text USING GIN (words);

CREATE TABLE edges (
  num        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
