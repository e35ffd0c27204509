-- Until when the process in carried_by executes the run, by the clock of the database; renewed while it does. 0 once it
-- handed the run over. NULL for runs that no single process executes.
ALTER TABLE runs ADD COLUMN carrier_until BIGINT;
