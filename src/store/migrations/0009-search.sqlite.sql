-- What changed and is not in the index yet. A later change takes a new ticket, so that the one
-- who indexed the earlier state cannot strike it off.
CREATE TABLE search_queue (
  ticket INTEGER PRIMARY KEY AUTOINCREMENT,
  kind   TEXT NOT NULL,
  thing  TEXT NOT NULL
);

-- What can be found, of any kind: an entry, a source, a task, a node.
CREATE TABLE things (
  num    INTEGER PRIMARY KEY AUTOINCREMENT,
  kind   TEXT NOT NULL,
  id     TEXT NOT NULL,
  title  TEXT NOT NULL,
  author TEXT NOT NULL,
  at     TEXT NOT NULL,
  run    TEXT NOT NULL,
  -- Of a node its type, of everything else its kind.
  type   TEXT NOT NULL,
  UNIQUE (kind, id)
);

-- Its parts, as they are shown. The engines index other words: passage_text.
CREATE TABLE passages (
  num     INTEGER PRIMARY KEY AUTOINCREMENT,
  thing   INTEGER NOT NULL REFERENCES things (num) ON DELETE CASCADE,
  part    INTEGER NOT NULL,
  heading TEXT NOT NULL,
  line    INTEGER NOT NULL,
  body    TEXT NOT NULL,
  -- Names what is embedded, and all that is indexed: what stays the same is left alone.
  hash    TEXT NOT NULL,
  state   TEXT NOT NULL
);
CREATE INDEX passages_of_thing ON passages (thing, part);
CREATE INDEX passages_by_hash ON passages (hash);

-- With its own copy of the words: without one FTS5 goes on counting passages that are gone, and ranks by it.
CREATE VIRTUAL TABLE passage_text USING fts5 (
  title, body, near, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE passage_links (
  passage INTEGER NOT NULL REFERENCES passages (num) ON DELETE CASCADE,
  target  TEXT NOT NULL,
  PRIMARY KEY (passage, target)
) WITHOUT ROWID;
CREATE INDEX passage_links_to ON passage_links (target, passage);

-- The words of all texts, for those who mistype one.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY) WITHOUT ROWID;

-- By what was embedded, so that the same text is embedded once; seq tells who has read them what is new.
CREATE TABLE vectors (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  model  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (model, hash)
);

CREATE TABLE source_texts (
  sha256 TEXT PRIMARY KEY,
  format TEXT NOT NULL,
  text   TEXT NOT NULL
);

ALTER TABLE sources ADD COLUMN origin TEXT;
ALTER TABLE sources ADD COLUMN gone_at TEXT;
CREATE INDEX sources_by_origin ON sources (origin) WHERE origin IS NOT NULL;

-- One index for all: what each kind had for itself is no longer needed.
DROP TABLE entry_text;
DROP TABLE node_text;
DROP TRIGGER task_text_added;
DROP TRIGGER task_text_changed;
DROP TRIGGER task_text_gone;
DROP TABLE task_text;

INSERT INTO search_queue (kind, thing) SELECT 'entry', id FROM entries;
INSERT INTO search_queue (kind, thing) SELECT 'source', path FROM sources;
INSERT INTO search_queue (kind, thing) SELECT 'task', id FROM tasks;
INSERT INTO search_queue (kind, thing) SELECT 'node', id FROM nodes;
INSERT INTO search_queue (kind, thing) SELECT 'topic', id FROM topics;

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

-- Claims and leases change a task all the time; only what is searched counts.
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

-- A topic is what is said in it.
CREATE TRIGGER messages_search_new AFTER INSERT ON messages
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', new.topic_id); END;
CREATE TRIGGER messages_search_changed AFTER UPDATE OF text ON messages
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', new.topic_id); END;
CREATE TRIGGER topics_search_changed AFTER UPDATE OF status, path ON topics
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', new.id); END;
CREATE TRIGGER topics_search_gone AFTER DELETE ON topics
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('topic', old.id); END;
