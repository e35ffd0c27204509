-- Words are kept with how often they count, no longer with their places: every passage is indexed again.
-- Vectors are known by what was embedded, and stay.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things;
DELETE FROM passages;

-- What workers handed in and what verifiers said of it are found by themselves, and no longer through their task.
CREATE FUNCTION search_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO search_queue (kind, thing) VALUES ('output', OLD.task_id || '/' || OLD.epoch);
  ELSE
    INSERT INTO search_queue (kind, thing) VALUES ('output', NEW.task_id || '/' || NEW.epoch);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER attempts_search_new AFTER INSERT ON attempts
  FOR EACH ROW WHEN (NEW.output IS NOT NULL) EXECUTE FUNCTION search_attempt();
CREATE TRIGGER attempts_search_changed AFTER UPDATE OF output, decisions, worker_ended_at ON attempts
  FOR EACH ROW WHEN (OLD.output IS DISTINCT FROM NEW.output OR OLD.decisions <> NEW.decisions
    OR OLD.worker_ended_at IS DISTINCT FROM NEW.worker_ended_at) EXECUTE FUNCTION search_attempt();
CREATE TRIGGER attempts_search_gone AFTER DELETE ON attempts
  FOR EACH ROW EXECUTE FUNCTION search_attempt();
CREATE TRIGGER verdicts_search_new AFTER INSERT OR DELETE ON verdicts
  FOR EACH ROW EXECUTE FUNCTION search_changed('verdict', 'id');
CREATE TRIGGER verdicts_search_changed AFTER UPDATE OF voided_at ON verdicts
  FOR EACH ROW EXECUTE FUNCTION search_changed('verdict', 'id');

INSERT INTO search_queue (kind, thing) SELECT 'output', task_id || '/' || epoch FROM attempts WHERE output IS NOT NULL;
INSERT INTO search_queue (kind, thing) SELECT 'verdict', id FROM verdicts;

-- A vector goes with the last passage that had its text.
CREATE INDEX vectors_by_hash ON vectors (hash);
