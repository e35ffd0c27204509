-- The oldest events, packed (src/store/archive-events.ts): positions `first` to `last` of the chain without gaps. Their
-- rows in `events` and `event_chain` are gone.
CREATE TABLE event_archives (
  first       INTEGER PRIMARY KEY,
  last        INTEGER NOT NULL,
  -- The lowest and the highest `seq` in it.
  min_seq     INTEGER NOT NULL,
  max_seq     INTEGER NOT NULL,
  -- Of the position before `first` and of `last`; NULL before the first event.
  hash_before TEXT,
  hash        TEXT NOT NULL,
  -- JSON: the kinds of its events.
  kinds       TEXT NOT NULL,
  -- gzip of one line of JSON for each event: [seq, at, actor, kind, subject, data].
  content     BLOB NOT NULL
);
CREATE TABLE event_archive_subjects (
  subject TEXT NOT NULL,
  first   INTEGER NOT NULL REFERENCES event_archives (first) ON DELETE CASCADE,
  PRIMARY KEY (subject, first)
) WITHOUT ROWID;
