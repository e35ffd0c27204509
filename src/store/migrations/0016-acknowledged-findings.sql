-- Findings of doctor that a person accepted as they are. The id contains the evidence: a finding that changes has
-- another id and is shown again.
CREATE TABLE acknowledged_findings (
  id      TEXT PRIMARY KEY,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL,
  message TEXT NOT NULL,
  note    TEXT NOT NULL,
  by_name TEXT NOT NULL,
  at      TEXT NOT NULL
);
