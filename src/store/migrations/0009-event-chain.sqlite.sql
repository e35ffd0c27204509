-- The order of events: position 1, 2, 3 … without gaps, and the SHA-256 over the previous hash and the event
-- (src/store/event-chain.ts). Rows are only added, by a process that wants to read; a writer adds to `events` alone.
-- Events that are here already are sealed by the next reader, in the order of `seq`.
CREATE TABLE event_chain (
  position INTEGER PRIMARY KEY,
  seq      INTEGER NOT NULL UNIQUE,
  hash     TEXT NOT NULL
);
