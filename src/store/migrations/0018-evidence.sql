-- JSON: verdicts that were refused because their evidence did not resolve; each verifier may correct its own once.
ALTER TABLE attempts ADD COLUMN refused_verdicts TEXT NOT NULL DEFAULT '[]';

-- The files that the verifier wrote into its scratch copy, e.g. a held-back test, as a patch against the deliverable.
ALTER TABLE verdicts ADD COLUMN scratch TEXT;
