-- The node of the graph that a topic is about: its entry, or the page it stands on.
ALTER TABLE topics ADD COLUMN about TEXT;
UPDATE topics SET about = 'entry:' || substr(path, 6, length(path) - 8)
  WHERE path LIKE 'wiki/%.md' AND EXISTS (SELECT 1 FROM entries WHERE entries.id = substr(topics.path, 6, length(topics.path) - 8));
UPDATE topics SET about = 'page:' || path WHERE about IS NULL;
CREATE INDEX topics_by_about ON topics (about);
