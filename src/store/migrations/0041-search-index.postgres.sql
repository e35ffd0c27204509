-- The search index in less space, and with the shape of each passage. Everything is indexed and embedded again:
-- words of titles count twice, and words are split differently.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things ORDER BY num;

DELETE FROM passage_text;
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
  seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model  TEXT NOT NULL,
  hash   TEXT NOT NULL,
  scale  DOUBLE PRECISION NOT NULL,
  vector BYTEA NOT NULL,
  UNIQUE (hash, model)
);
