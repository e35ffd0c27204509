-- Until when the process in `process` has the change drafted, by the clock of the database; renewed while it does. 0 once
-- it handed the change over. NULL while no lease is recorded, as by processes of earlier versions.
ALTER TABLE plan_changes ADD COLUMN process_until BIGINT;
