ALTER TABLE proposals DROP CONSTRAINT proposals_status_check;
ALTER TABLE proposals
  ADD CHECK (status IN ('open', 'approved', 'rejected', 'superseded')),
  ADD COLUMN topic_id        TEXT,
  ADD COLUMN revision_number INTEGER CHECK (revision_number >= 1),
  ADD COLUMN base_source_sha TEXT,
  ADD COLUMN base_text       TEXT,
  ADD COLUMN text            TEXT,
  ADD COLUMN job_id          TEXT,
  ADD COLUMN approval        TEXT;
ALTER TABLE proposals
  ADD CHECK (kind <> 'page' OR (topic_id IS NOT NULL AND revision_number IS NOT NULL AND base_source_sha IS NOT NULL
    AND base_text IS NOT NULL AND text IS NOT NULL)),
  ADD UNIQUE (topic_id, revision_number);
DROP INDEX proposals_one_open;
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
);
