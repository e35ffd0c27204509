-- SQLite cannot change a CHECK: the table is made anew, with what page proposals need.
CREATE TABLE proposals_next (
  id              TEXT PRIMARY KEY,
  kind            TEXT NOT NULL,
  subject         TEXT NOT NULL,
  data            TEXT NOT NULL,
  proposed_by     TEXT,
  status          TEXT NOT NULL CHECK (status IN ('open', 'approved', 'rejected', 'superseded')),
  created_at      TEXT NOT NULL,
  decided_at      TEXT,
  decided_by      TEXT,
  note            TEXT,
  topic_id        TEXT,
  revision_number INTEGER CHECK (revision_number >= 1),
  base_source_sha TEXT,
  base_text       TEXT,
  text            TEXT,
  job_id          TEXT,
  approval        TEXT,
  CHECK ((status = 'open') = (decided_at IS NULL)),
  CHECK (kind <> 'page' OR (topic_id IS NOT NULL AND revision_number IS NOT NULL AND base_source_sha IS NOT NULL
    AND base_text IS NOT NULL AND text IS NOT NULL)),
  UNIQUE (topic_id, revision_number)
);
INSERT INTO proposals_next (id, kind, subject, data, proposed_by, status, created_at, decided_at, decided_by, note)
  SELECT id, kind, subject, data, proposed_by, status, created_at, decided_at, decided_by, note FROM proposals;
DROP TABLE proposals;
ALTER TABLE proposals_next RENAME TO proposals;
CREATE UNIQUE INDEX proposals_one_open ON proposals (kind, subject) WHERE status = 'open' AND kind <> 'page';
CREATE UNIQUE INDEX proposals_one_open_revision ON proposals (topic_id) WHERE status = 'open' AND kind = 'page';
CREATE INDEX proposals_unfinished ON proposals (id) WHERE approval IS NOT NULL AND status = 'open';

CREATE TABLE proposal_comments (
  id             TEXT PRIMARY KEY,
  proposal_id    TEXT NOT NULL REFERENCES proposals (id),
  author         TEXT NOT NULL,
  text           TEXT NOT NULL,
  wants_revision INTEGER NOT NULL,
  at             TEXT NOT NULL
);
CREATE INDEX proposal_comments_of ON proposal_comments (proposal_id, at);

-- A commit to the person's branch may only replace this blob; NULL: whatever is there.
ALTER TABLE git_queue ADD COLUMN only_on TEXT;

CREATE TABLE perspectives (
  path        TEXT NOT NULL,
  persona     TEXT NOT NULL,
  source_sha  TEXT NOT NULL,
  persona_sha TEXT NOT NULL,
  skill_sha   TEXT NOT NULL,
  text        TEXT NOT NULL,
  job_id      TEXT,
  at          TEXT NOT NULL,
  PRIMARY KEY (path, persona, source_sha, persona_sha, skill_sha)
) WITHOUT ROWID;
