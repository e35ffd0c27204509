-- Versions of one group become one commit of the branch; history keeps a commit for each.
ALTER TABLE git_queue ADD COLUMN commit_group TEXT;
