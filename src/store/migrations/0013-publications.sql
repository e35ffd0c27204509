-- The temporary name of a file that is published after the commit, and the blob of the bytes that it replaces.
ALTER TABLE git_queue ADD COLUMN staged TEXT;
ALTER TABLE git_queue ADD COLUMN replaces TEXT;
CREATE INDEX git_queue_staged ON git_queue (path) WHERE staged IS NOT NULL;
-- The file is published after the approval is committed: there is no intent to resume.
DROP INDEX proposals_unfinished;
ALTER TABLE proposals DROP COLUMN approval;
