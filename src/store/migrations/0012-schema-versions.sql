-- Every valid schema.yaml that was in force, with its author. The text is here as well as in git: a workspace may
-- have no repository, and the last valid text serves while the file is broken.
CREATE TABLE schema_versions (
  version INTEGER PRIMARY KEY,
  blob    TEXT NOT NULL,
  content TEXT NOT NULL,
  author  TEXT NOT NULL,
  at      TEXT NOT NULL,
  summary TEXT NOT NULL,
  -- JSON: what changed, in words.
  changes TEXT NOT NULL
);

-- The sections of the schema in force. Entries without one keep their versions, but are neither nodes nor hits.
CREATE TABLE sections (
  id    TEXT PRIMARY KEY,
  title TEXT NOT NULL
);

-- Section ids that were renamed.
CREATE TABLE section_renames (
  old_id     TEXT PRIMARY KEY,
  new_id     TEXT NOT NULL,
  at         TEXT NOT NULL,
  renamed_by TEXT NOT NULL
);
CREATE INDEX section_renames_by_new ON section_renames (new_id);

-- The path that a renamed file had before; the commit removes it.
ALTER TABLE git_queue ADD COLUMN moved_from TEXT;
