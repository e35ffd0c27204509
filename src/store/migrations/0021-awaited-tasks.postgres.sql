-- Whether other tasks depend on it. It stands in the task's own row: whoever completes the task reads
-- it there with the write itself, and cannot overlook a dependent that is made at the same moment.
ALTER TABLE tasks ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET awaited = 1 WHERE id IN (SELECT depends_on FROM task_dependencies);

-- Tasks end often: what tells the search of it does not turn the whole row into JSON to find one column.
CREATE FUNCTION task_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_queue (kind, thing) VALUES ('task', NEW.id);
  RETURN NULL;
END $$;
DROP TRIGGER tasks_search_changed ON tasks;
CREATE TRIGGER tasks_search_changed AFTER UPDATE OF title, description, result ON tasks
  FOR EACH ROW WHEN (OLD.title <> NEW.title OR OLD.description <> NEW.description OR OLD.result <> NEW.result)
  EXECUTE FUNCTION task_text_changed();
