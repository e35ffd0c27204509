-- When what an ended attempt taught was written into the book; a process that was killed leaves it open.
ALTER TABLE attempts ADD COLUMN learnt_at TEXT;
UPDATE attempts SET learnt_at = ended_at WHERE phase <> 'worker_executing';
-- Which process carries the run out: a server that is started again goes on with what it was cut off from.
ALTER TABLE runs ADD COLUMN carried_by TEXT;
