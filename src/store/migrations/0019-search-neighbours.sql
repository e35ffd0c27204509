-- What stands under another heading no longer counts as a neighbour: whatever that changes is indexed again.
INSERT INTO search_queue (kind, thing) SELECT kind, id FROM things;
