-- The order of events: position 1, 2, 3 … without gaps, and the SHA-256 over the previous hash and the event
-- (src/store/event-chain.ts). Rows are only added, by a process that wants to read; a writer adds to `events` alone.
CREATE TABLE event_chain (
  position BIGINT PRIMARY KEY,
  seq      BIGINT NOT NULL UNIQUE,
  hash     TEXT NOT NULL
);

-- Sequence numbers below the highest sealed one that nobody could see yet. `holders` are the transactions that could
-- still commit them, as a JSON list of virtual transaction ids; when all of them have ended, the row is deleted.
CREATE TABLE event_gaps (
  first   BIGINT PRIMARY KEY,
  last    BIGINT NOT NULL,
  holders TEXT NOT NULL
);

-- Events get positions in the order in which readers have seen them: (xid, seq). A database that was restored into
-- another cluster has transaction ids of both; there only `seq` has an order.
DO $$
DECLARE
  event   RECORD;
  place   BIGINT := 0;
  digest  TEXT := repeat('0', 64);
  part    TEXT;
  chained TEXT;
  foreign_ids BOOLEAN := EXISTS (SELECT 1 FROM events WHERE xid > pg_current_xact_id());
BEGIN
  FOR event IN
    SELECT * FROM events ORDER BY CASE WHEN foreign_ids THEN '0'::xid8 ELSE xid END, seq
  LOOP
    place := place + 1;
    chained := '';
    FOREACH part IN ARRAY
      ARRAY[digest, place::text, event.at, event.actor, event.kind, event.subject, event.data]
    LOOP
      chained := chained || octet_length(convert_to(part, 'UTF8')) || ':' || part || ',';
    END LOOP;
    digest := encode(sha256(convert_to(chained, 'UTF8')), 'hex');
    INSERT INTO event_chain (position, seq, hash) VALUES (place, event.seq, digest);
  END LOOP;
END $$;

DROP INDEX events_in_order;
ALTER TABLE events DROP COLUMN xid;
