-- A browser in which a person is signed in. A request needs two secrets, of which only hashes are stored: the cookie,
-- which a browser sends to every port of a host, and the page secret, which only pages of the server's own origin,
-- port included, can read.
CREATE TABLE sessions (
  id         TEXT PRIMARY KEY,
  hash       TEXT NOT NULL UNIQUE,
  page_hash  TEXT NOT NULL,
  person     TEXT NOT NULL,
  -- 1: the owner of the workspace's folder, who needs no user and no token.
  is_owner   INTEGER NOT NULL,
  -- The token that the person signed in with; the session ends with it.
  token_id   TEXT,
  user_agent TEXT NOT NULL,
  created_at TEXT NOT NULL,
  seen_at    TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  revoked_at TEXT
);
CREATE INDEX sessions_by_person ON sessions (person);

-- One-time codes in sign-in links.
CREATE TABLE sign_in_codes (
  hash       TEXT PRIMARY KEY,
  person     TEXT NOT NULL,
  is_owner   INTEGER NOT NULL,
  expires_at TEXT NOT NULL
);

CREATE TABLE passkeys (
  id         TEXT PRIMARY KEY,
  -- The id that the authenticator gave it, in base64url.
  credential TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  -- Signatures so far, as the authenticator counts them; 0 for those that do not count.
  counter    BIGINT NOT NULL,
  -- JSON list, such as ["internal","hybrid"].
  transports TEXT NOT NULL,
  person     TEXT NOT NULL,
  is_owner   INTEGER NOT NULL,
  token_id   TEXT,
  name       TEXT NOT NULL,
  created_at TEXT NOT NULL,
  used_at    TEXT
);
