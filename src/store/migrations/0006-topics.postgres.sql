CREATE TABLE topics (
  id           TEXT PRIMARY KEY,
  path         TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('change', 'question')),
  status       TEXT NOT NULL CHECK (status IN ('open', 'resolved')),
  -- The highest number of its messages; the next one takes the number after it.
  messages     BIGINT NOT NULL,
  created_by   TEXT NOT NULL,
  created_at   TEXT NOT NULL,
  resolved_by  TEXT,
  resolved_at  TEXT,
  -- The last place that is sure, as JSON; NULL for a topic about the whole page.
  anchor       TEXT,
  -- The blob that the anchor's offsets count in; its text is in page_texts.
  anchor_blob  TEXT,
  anchor_state TEXT CHECK (anchor_state IN ('anchored', 'moved', 'needs-review', 'orphaned')),
  -- Where it perhaps is now, while a person has to say so.
  place        TEXT,
  first_quote  TEXT,
  -- The page's blob when the anchor was last looked for; empty when the page was not there.
  seen_blob    TEXT NOT NULL,
  CHECK ((status = 'open') = (resolved_at IS NULL)),
  CHECK ((anchor IS NULL) = (anchor_blob IS NULL)),
  CHECK ((anchor IS NULL) = (anchor_state IS NULL)),
  CHECK ((anchor_state = 'needs-review') = (place IS NOT NULL))
);
CREATE INDEX topics_by_path ON topics (path, id);
CREATE INDEX topics_open ON topics (path) WHERE status = 'open';
CREATE INDEX topics_by_blob ON topics (anchor_blob);

CREATE TABLE messages (
  topic_id    TEXT NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  seq         BIGINT NOT NULL CHECK (seq > 0),
  author      TEXT NOT NULL,
  author_kind TEXT NOT NULL CHECK (author_kind IN ('person', 'agent')),
  text        TEXT NOT NULL,
  created_at  TEXT NOT NULL,
  edited_at   TEXT,
  PRIMARY KEY (topic_id, seq)
);

-- The texts that anchors were taken from: an edit that was never committed is in no git.
CREATE TABLE page_texts (
  blob TEXT PRIMARY KEY,
  text TEXT NOT NULL
);
