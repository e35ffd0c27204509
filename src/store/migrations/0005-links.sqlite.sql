-- The node ids that an entry's text links to, as a JSON list; NULL until somebody has read the text.
ALTER TABLE entries ADD COLUMN links TEXT;
CREATE INDEX entries_unread ON entries (num) WHERE links IS NULL;

-- The same list, both ways round. Triggers keep it, so that no way of writing an entry can forget it.
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
  -- Not OR IGNORE: the statement that fires a trigger decides what conflicts in it do.
  INSERT INTO entry_links SELECT NEW.id, value FROM json_each(coalesce(NEW.links, '[]'))
    WHERE NOT EXISTS (SELECT 1 FROM entry_links WHERE entry_id = NEW.id AND to_id = value);
END;
CREATE TRIGGER entry_links_gone AFTER DELETE ON entries BEGIN
  DELETE FROM entry_links WHERE entry_id = OLD.id;
END;

-- Which tasks wrote an entry, and with which version last.
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
INSERT INTO entry_writers (entry_id, task, epoch, version, role, at)
  SELECT entry_id, task, epoch, max(version), role, at FROM entry_versions WHERE task IS NOT NULL GROUP BY entry_id, task;

-- Under what a node or an edge was last written.
ALTER TABLE nodes ADD COLUMN role TEXT;
ALTER TABLE nodes ADD COLUMN run TEXT;
ALTER TABLE nodes ADD COLUMN task TEXT;
ALTER TABLE nodes ADD COLUMN epoch INTEGER;
ALTER TABLE nodes ADD COLUMN attempt INTEGER;
CREATE INDEX nodes_by_task ON nodes (task, id) WHERE task IS NOT NULL;

-- Edges may lead to what other tables keep, so their ends are no longer foreign keys.
CREATE TABLE edges_between (
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
INSERT INTO edges_between (num, id, type, from_id, to_id, properties, created_at, created_by)
  SELECT num, id, type, from_id, to_id, properties, created_at, created_by FROM edges;
DROP TABLE edges;
ALTER TABLE edges_between RENAME TO edges;
CREATE INDEX edges_out ON edges (from_id, num);
CREATE INDEX edges_in ON edges (to_id, num);

-- What PostgreSQL's index over properties answers: which nodes have this value there. True and false
-- are blobs, apart from 1 and 0; longer texts are looked for in the nodes themselves.
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
INSERT INTO node_props
  SELECT p.key, CASE p.type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE p.atom END, nodes.num, nodes.type
  FROM nodes, json_each(nodes.properties) p
  WHERE p.type IN ('true', 'false', 'integer', 'real') OR (p.type = 'text' AND length(p.atom) <= 200);

-- Full text of tasks. It changes with a task's words, never with its state: claims do not touch it.
CREATE VIRTUAL TABLE task_text USING fts5 (title, body, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TRIGGER task_text_added AFTER INSERT ON tasks BEGIN
  INSERT INTO task_text (rowid, title, body) VALUES (NEW.num, NEW.title, NEW.id || char(10) || NEW.description);
END;
CREATE TRIGGER task_text_changed AFTER UPDATE OF title, description ON tasks
WHEN NEW.title <> OLD.title OR NEW.description <> OLD.description BEGIN
  DELETE FROM task_text WHERE rowid = OLD.num;
  INSERT INTO task_text (rowid, title, body) VALUES (NEW.num, NEW.title, NEW.id || char(10) || NEW.description);
END;
CREATE TRIGGER task_text_gone AFTER DELETE ON tasks BEGIN
  DELETE FROM task_text WHERE rowid = OLD.num;
END;
INSERT INTO task_text (rowid, title, body) SELECT num, title, id || char(10) || description FROM tasks;
