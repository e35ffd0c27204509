-- What changed and is not in the index yet. A later change takes a new ticket, so that the one
-- who indexed the earlier state cannot strike it off.
CREATE TABLE search_queue (
  ticket BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind   TEXT NOT NULL,
  thing  TEXT NOT NULL
);

-- What can be found, of any kind: an entry, a source, a task, a node.
CREATE TABLE things (
  num    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
  num     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thing   BIGINT NOT NULL REFERENCES things (num) ON DELETE CASCADE,
  part    BIGINT NOT NULL,
  heading TEXT NOT NULL,
  line    BIGINT NOT NULL,
  body    TEXT NOT NULL,
  -- Names what is embedded, and all that is indexed: what stays the same is left alone.
  hash    TEXT NOT NULL,
  state   TEXT NOT NULL
);
CREATE INDEX passages_of_thing ON passages (thing, part);
CREATE INDEX passages_by_hash ON passages (hash);

-- Apart from the texts, so that ranking many passages reads few pages.
CREATE TABLE passage_text (
  rowid  BIGINT PRIMARY KEY REFERENCES passages (num) ON DELETE CASCADE,
  length BIGINT NOT NULL,
  words  TSVECTOR NOT NULL
);
-- Kept in the row: looking a word up in one that lies elsewhere costs twenty times as much.
ALTER TABLE passage_text ALTER COLUMN words SET STORAGE MAIN;
ALTER TABLE passage_text SET (toast_tuple_target = 8160);
CREATE INDEX passage_text_words ON passage_text USING GIN (words) WITH (fastupdate = off);

CREATE TABLE passage_links (
  passage BIGINT NOT NULL REFERENCES passages (num) ON DELETE CASCADE,
  target  TEXT NOT NULL,
  PRIMARY KEY (passage, target)
);
CREATE INDEX passage_links_to ON passage_links (target, passage);

-- The words of all texts, for those who mistype one.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY);

-- By what was embedded, so that the same text is embedded once; seq tells who has read them what is new.
CREATE TABLE vectors (
  seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  vector BYTEA NOT NULL,
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
DROP TRIGGER task_text_added ON tasks;
DROP TRIGGER task_text_changed ON tasks;
DROP FUNCTION keep_task_text();
DROP TABLE task_text;

INSERT INTO search_queue (kind, thing) SELECT 'entry', id FROM entries;
INSERT INTO search_queue (kind, thing) SELECT 'source', path FROM sources;
INSERT INTO search_queue (kind, thing) SELECT 'task', id FROM tasks;
INSERT INTO search_queue (kind, thing) SELECT 'node', id FROM nodes;
INSERT INTO search_queue (kind, thing) SELECT 'topic', id FROM topics;

-- Only ever inserts: two writers never wait for each other here.
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
-- Claims and leases change a task all the time; only what is searched counts.
CREATE TRIGGER tasks_search_new AFTER INSERT OR DELETE ON tasks
  FOR EACH ROW EXECUTE FUNCTION search_changed('task', 'id');
CREATE TRIGGER tasks_search_changed AFTER UPDATE OF title, description, result ON tasks
  FOR EACH ROW WHEN (OLD.title <> NEW.title OR OLD.description <> NEW.description OR OLD.result <> NEW.result)
  EXECUTE FUNCTION search_changed('task', 'id');
CREATE TRIGGER nodes_search_new AFTER INSERT OR DELETE ON nodes
  FOR EACH ROW EXECUTE FUNCTION search_changed('node', 'id');
CREATE TRIGGER nodes_search_changed AFTER UPDATE OF title, properties ON nodes
  FOR EACH ROW EXECUTE FUNCTION search_changed('node', 'id');
-- A topic is what is said in it.
CREATE TRIGGER messages_search AFTER INSERT OR UPDATE OF text ON messages
  FOR EACH ROW EXECUTE FUNCTION search_changed('topic', 'topic_id');
CREATE TRIGGER topics_search AFTER DELETE OR UPDATE OF status, path ON topics
  FOR EACH ROW EXECUTE FUNCTION search_changed('topic', 'id');
