-- Markdown files of the repository that are neither entries nor sources, as search last saw them.
CREATE TABLE pages (
  path TEXT PRIMARY KEY,
  -- Inode, size and modification time when `blob` was taken from the file.
  stat TEXT NOT NULL,
  blob TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER pages_search_new AFTER INSERT ON pages
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('page', new.path); END;
CREATE TRIGGER pages_search_changed AFTER UPDATE OF blob ON pages WHEN old.blob <> new.blob
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('page', new.path); END;
CREATE TRIGGER pages_search_gone AFTER DELETE ON pages
BEGIN INSERT INTO search_queue (kind, thing) VALUES ('page', old.path); END;
