-- Markdown files of the repository that are neither entries nor sources, as search last saw them.
CREATE TABLE pages (
  path TEXT PRIMARY KEY,
  -- Inode, size and modification time when `blob` was taken from the file.
  stat TEXT NOT NULL,
  blob TEXT NOT NULL
);

CREATE TRIGGER pages_search_new AFTER INSERT OR DELETE ON pages
  FOR EACH ROW EXECUTE FUNCTION search_changed('page', 'path');
CREATE TRIGGER pages_search_changed AFTER UPDATE OF blob ON pages
  FOR EACH ROW WHEN (OLD.blob <> NEW.blob) EXECUTE FUNCTION search_changed('page', 'path');
