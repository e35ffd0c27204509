-- Why a run is stopped: person, budget or other. NULL while it is not.
ALTER TABLE runs ADD COLUMN stopped_by TEXT;
UPDATE runs SET stopped_by = CASE
  WHEN reason LIKE 'paused by %' THEN 'person'
  WHEN reason LIKE '%the budget of the run%' THEN 'budget'
  ELSE 'other' END
WHERE state = 'stopped';
