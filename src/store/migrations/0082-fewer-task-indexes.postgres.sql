-- Every query of it names a run. A task without one, of an agent's own list, then has an index less to write at each
-- claim and at its end.
DROP INDEX tasks_by_run;
CREATE INDEX tasks_by_run ON tasks (run, num) WHERE run IS NOT NULL;
