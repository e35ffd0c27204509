-- The search index in less space, and with the shape of each passage. Everything is indexed and embedded again:
-- words of titles count twice, and words are split differently.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things ORDER BY num;

DROP TABLE passage_text;
-- Without a copy of the words: a row is deleted by naming the words it was indexed with, which
-- search/index/replace.ts computes again from the passages. The option contentless_delete would not do: such a
-- table keeps counting deleted passages in its ranking.
CREATE VIRTUAL TABLE passage_text USING fts5 (
  title, body, near, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);

DELETE FROM passage_links;
DELETE FROM passages;
DELETE FROM things;
DELETE FROM vocabulary;
DELETE FROM meta WHERE key = 'search-vocabulary';

-- turn of a conversation, log line, or text
ALTER TABLE passages ADD COLUMN shape TEXT NOT NULL DEFAULT 'text';

DROP TABLE vectors;
-- Bytes from -127 to 127, times `scale`.
CREATE TABLE vectors (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  model  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  scale  REAL NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (hash, model)
);
