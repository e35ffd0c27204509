-- Calls that carried an idempotency key, for 24 hours. The row is inserted in the first transaction of the call.
CREATE TABLE idempotency (
  -- Hash of caller, operation and key; the key itself is not stored.
  id         TEXT PRIMARY KEY,
  operation  TEXT NOT NULL,
  -- Hash of key and input.
  input_hash TEXT NOT NULL,
  -- Tells two calls with the same key apart.
  call       TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
  -- Encrypted with the key; NULL until the call has ended, and for answers that are not kept.
  answer     TEXT,
  -- The process that performs the call.
  holder     TEXT NOT NULL,
  at         TEXT NOT NULL
);
CREATE INDEX idempotency_by_age ON idempotency (at);
