-- Neither what stands under another heading nor the entry beside another of a log counts as a neighbour any more:
-- whatever that changes is indexed again.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things;
