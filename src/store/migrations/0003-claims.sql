-- SHA-256 of the secret of the claim that holds the task. A claim that was made before this column existed has none:
-- no secret matches, so it can neither write nor be renewed, and ends with its lease.
ALTER TABLE tasks ADD COLUMN secret_hash TEXT;
