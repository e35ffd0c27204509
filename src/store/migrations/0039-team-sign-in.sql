-- People whom an identity provider (OpenID Connect) signs in. The provider's subject never changes; the name is ours.
CREATE TABLE identities (
  issuer     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  person     TEXT NOT NULL,
  created_at TEXT NOT NULL,
  seen_at    TEXT NOT NULL,
  -- When the provider's claims no longer gave a rank and the user was removed for that reason. NULL for a user whom an
  -- admin removed: they do not come back by signing in.
  left_at    TEXT,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_person ON identities (person);

-- What a browser has to answer: the state of a sign-in at a provider, or the challenge of a passkey. In the database,
-- because the answer may reach another server. Each is taken once.
CREATE TABLE sign_in_challenges (
  hash       TEXT PRIMARY KEY,
  -- JSON; {} for a passkey.
  data       TEXT NOT NULL,
  expires_at TEXT NOT NULL
);
CREATE INDEX sign_in_challenges_by_end ON sign_in_challenges (expires_at);
