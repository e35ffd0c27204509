-- Numbers with units, dates in numbers and letters with strokes are indexed in other forms: everything is indexed
-- again. Vectors stay, because the texts are the same.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things ORDER BY num;

DELETE FROM passage_text;
DELETE FROM passage_links;
DELETE FROM passages;
DELETE FROM things;
DELETE FROM vocabulary;
DELETE FROM meta WHERE key = 'search-vocabulary';
