-- Words are kept with how often they count, no longer with their places: every passage is indexed again.
-- Vectors are known by what was embedded, and stay.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things;
DELETE FROM passages;
