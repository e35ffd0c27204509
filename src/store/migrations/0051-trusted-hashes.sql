-- Search looks up the passages that it found: most are unverified, which is what a missing row means.
DROP INDEX passage_trust_hashes;
CREATE INDEX passage_trust_hashes ON passage_trust (hash) WHERE gone = 0 AND state <> 'unverified';
