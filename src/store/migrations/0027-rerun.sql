-- Where the next attempt of a task starts after a rerun: with the files of the attempt with this epoch, or with 0 of the
-- accepted work alone. It holds until an attempt after `start_since` has failed.
ALTER TABLE run_tasks ADD COLUMN start_epoch INTEGER;
ALTER TABLE run_tasks ADD COLUMN start_since INTEGER;
