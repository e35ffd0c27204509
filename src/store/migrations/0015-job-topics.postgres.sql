-- A job belongs to a topic that exists. Jobs of topics that do not are deleted; their events stay.
DELETE FROM agent_jobs WHERE topic_id IS NOT NULL AND topic_id NOT IN (SELECT id FROM topics);
ALTER TABLE agent_jobs
  ADD CONSTRAINT agent_jobs_topic FOREIGN KEY (topic_id) REFERENCES topics (id) ON DELETE CASCADE;
CREATE INDEX agent_jobs_by_topic ON agent_jobs (topic_id) WHERE topic_id IS NOT NULL;
-- JSON: the intent of an approval in a store outside the database, saved before its text is published there.
ALTER TABLE proposals ADD COLUMN publishing TEXT;
