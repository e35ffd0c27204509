-- Messages of topics that are about one line of a proposal's diff.
CREATE TABLE line_comments (
  topic_id    TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  proposal_id TEXT NOT NULL REFERENCES proposals (id) ON DELETE CASCADE,
  -- old: a line of the text that the proposal is based on; new: one of the proposed text.
  side        TEXT NOT NULL CHECK (side IN ('old', 'new')),
  line        INTEGER NOT NULL CHECK (line > 0),
  quote       TEXT NOT NULL,
  PRIMARY KEY (topic_id, seq),
  FOREIGN KEY (topic_id, seq) REFERENCES messages (topic_id, seq) ON DELETE CASCADE
);
CREATE INDEX line_comments_of_proposal ON line_comments (proposal_id);
