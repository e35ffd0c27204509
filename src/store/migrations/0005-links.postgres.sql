-- The node ids that an entry's text links to, as a JSON list; NULL until somebody has read the text.
ALTER TABLE entries ADD COLUMN links TEXT;
CREATE INDEX entries_unread ON entries (num) WHERE links IS NULL;

-- The same list, both ways round. Triggers keep it, so that no way of writing an entry can forget it.
CREATE TABLE entry_links (
  entry_id TEXT NOT NULL,
  to_id    TEXT NOT NULL,
  PRIMARY KEY (entry_id, to_id)
);
CREATE INDEX entry_links_in ON entry_links (to_id, entry_id);

CREATE FUNCTION keep_entry_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM entry_links WHERE entry_id = OLD.id;
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM entry_links WHERE entry_id = NEW.id
      AND to_id NOT IN (SELECT jsonb_array_elements_text(coalesce(NEW.links, '[]')::jsonb));
  END IF;
  INSERT INTO entry_links (entry_id, to_id)
    SELECT NEW.id, to_id FROM jsonb_array_elements_text(coalesce(NEW.links, '[]')::jsonb) AS to_id
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER entry_links_added AFTER INSERT ON entries FOR EACH ROW WHEN (NEW.links IS NOT NULL)
  EXECUTE FUNCTION keep_entry_links();
CREATE TRIGGER entry_links_changed AFTER UPDATE ON entries FOR EACH ROW WHEN (NEW.links IS DISTINCT FROM OLD.links)
  EXECUTE FUNCTION keep_entry_links();
CREATE TRIGGER entry_links_gone AFTER DELETE ON entries FOR EACH ROW EXECUTE FUNCTION keep_entry_links();

-- Which tasks wrote an entry, and with which version last.
CREATE TABLE entry_writers (
  entry_id TEXT NOT NULL,
  task     TEXT NOT NULL,
  epoch    BIGINT,
  attempt  BIGINT,
  version  BIGINT NOT NULL,
  role     TEXT,
  at       TEXT NOT NULL,
  PRIMARY KEY (entry_id, task)
);
CREATE INDEX entry_writers_by_task ON entry_writers (task, entry_id);

CREATE FUNCTION keep_entry_writers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM entry_writers WHERE entry_id = OLD.entry_id AND task = OLD.task;
    RETURN NULL;
  END IF;
  INSERT INTO entry_writers (entry_id, task, epoch, attempt, version, role, at)
    VALUES (NEW.entry_id, NEW.task, NEW.epoch,
            (SELECT attempt FROM tasks WHERE id = NEW.task AND epoch = NEW.epoch), NEW.version, NEW.role, NEW.at)
    ON CONFLICT (entry_id, task) DO UPDATE SET
      epoch = excluded.epoch, attempt = excluded.attempt, version = excluded.version, role = excluded.role, at = excluded.at;
  RETURN NULL;
END $$;
CREATE TRIGGER entry_writers_added AFTER INSERT ON entry_versions FOR EACH ROW WHEN (NEW.task IS NOT NULL)
  EXECUTE FUNCTION keep_entry_writers();
CREATE TRIGGER entry_writers_gone AFTER DELETE ON entry_versions FOR EACH ROW WHEN (OLD.task IS NOT NULL)
  EXECUTE FUNCTION keep_entry_writers();
INSERT INTO entry_writers (entry_id, task, epoch, version, role, at)
  SELECT DISTINCT ON (entry_id, task) entry_id, task, epoch, version, role, at
  FROM entry_versions WHERE task IS NOT NULL ORDER BY entry_id, task, version DESC;

-- Under what a node or an edge was last written.
ALTER TABLE nodes ADD COLUMN role TEXT, ADD COLUMN run TEXT, ADD COLUMN task TEXT,
  ADD COLUMN epoch BIGINT, ADD COLUMN attempt BIGINT;
CREATE INDEX nodes_by_task ON nodes (task, id) WHERE task IS NOT NULL;

-- Edges may lead to what other tables keep, so their ends are no longer foreign keys.
ALTER TABLE edges DROP CONSTRAINT edges_from_id_fkey, DROP CONSTRAINT edges_to_id_fkey,
  ADD COLUMN role TEXT, ADD COLUMN run TEXT, ADD COLUMN task TEXT, ADD COLUMN epoch BIGINT, ADD COLUMN attempt BIGINT;

-- Full text of tasks. It changes with a task's words, never with its state: claims do not touch it.
CREATE TABLE task_text (
  rowid BIGINT PRIMARY KEY,
  title TEXT NOT NULL,
  body  TEXT NOT NULL,
  words TSVECTOR GENERATED ALWAYS AS (
    setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', body), 'C')
  ) STORED
);
CREATE INDEX task_text_words ON task_text USING GIN (words);

CREATE FUNCTION keep_task_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM task_text WHERE rowid = OLD.num;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO task_text (rowid, title, body) VALUES (NEW.num, NEW.title, NEW.id || E'\n' || NEW.description);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER task_text_added AFTER INSERT OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION keep_task_text();
CREATE TRIGGER task_text_changed AFTER UPDATE OF title, description ON tasks FOR EACH ROW
  WHEN (NEW.title IS DISTINCT FROM OLD.title OR NEW.description IS DISTINCT FROM OLD.description)
  EXECUTE FUNCTION keep_task_text();
INSERT INTO task_text (rowid, title, body) SELECT num, title, id || E'\n' || description FROM tasks;
