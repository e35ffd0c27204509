-- What was removed from an agent's conversation so that it fits into its model's context, as JSON; NULL before it ended.
ALTER TABLE contexts ADD COLUMN compactions TEXT;
