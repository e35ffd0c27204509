-- People who may sign in. What someone may do is here; a token of theirs may allow less, never more.
CREATE TABLE users (
  name       TEXT PRIMARY KEY,
  email      TEXT,
  role       TEXT NOT NULL CHECK (role IN ('reader', 'collaborator', 'admin')),
  created_at TEXT NOT NULL,
  removed_at TEXT
);
