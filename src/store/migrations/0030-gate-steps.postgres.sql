-- What happens when a person rejects a step of a plan that only asks them; NULL for tasks with a worker.
ALTER TABLE run_tasks ADD COLUMN on_reject TEXT CHECK (on_reject IN ('fail', 'stop'));

-- A question can be rejected as well.
ALTER TABLE gates DROP CONSTRAINT gates_decision_check;
ALTER TABLE gates ADD CONSTRAINT gates_decision_check CHECK (decision IN ('approved', 'returned', 'rejected'));
