-- What workers handed in and what verifiers said of it are found by themselves, and no longer through their task.
CREATE TRIGGER attempts_search_new AFTER INSERT ON attempts WHEN new.output IS NOT NULL
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('output', new.task_id || '/' || new.epoch); END;
CREATE TRIGGER attempts_search_changed AFTER UPDATE OF output, decisions, worker_ended_at ON attempts
WHEN old.output IS NOT new.output OR old.decisions <> new.decisions OR old.worker_ended_at IS NOT new.worker_ended_at
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('output', new.task_id || '/' || new.epoch); END;
CREATE TRIGGER attempts_search_gone AFTER DELETE ON attempts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('output', old.task_id || '/' || old.epoch); END;

CREATE TRIGGER verdicts_search_new AFTER INSERT ON verdicts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('verdict', new.id); END;
CREATE TRIGGER verdicts_search_changed AFTER UPDATE OF voided_at ON verdicts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('verdict', new.id); END;
CREATE TRIGGER verdicts_search_gone AFTER DELETE ON verdicts
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('verdict', old.id); END;

INSERT INTO search_queue (kind, thing) SELECT 'task', id FROM tasks WHERE run IS NOT NULL;
INSERT INTO search_queue (kind, thing) SELECT 'output', task_id || '/' || epoch FROM attempts WHERE output IS NOT NULL;
INSERT INTO search_queue (kind, thing) SELECT 'verdict', id FROM verdicts;

-- A vector goes with the last passage that had its text.
CREATE INDEX vectors_by_hash ON vectors (hash);
