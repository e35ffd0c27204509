-- When the lease of a claim was last renewed, by the clock of the database; NULL until the first renewal.
ALTER TABLE tasks ADD COLUMN renewed_at BIGINT;
