-- The destinations that an agent used or was refused, as JSON; NULL where that is not known.
ALTER TABLE agent_jobs ADD COLUMN destinations TEXT;
ALTER TABLE contexts ADD COLUMN destinations TEXT;
