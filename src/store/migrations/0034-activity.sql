-- Activity of one page or run, and the plans of a run, are read by subject.
CREATE INDEX events_by_subject ON events (subject, seq);

-- The index of 0029 left out gate-rejected, so that no query used it. src/store/queries/notice-events.ts has this list.
DROP INDEX events_of_notices;
CREATE INDEX events_of_notices ON events (seq) WHERE kind IN (
  'topic-mentioned', 'topic-assigned', 'proposal-opened', 'proposal-approved', 'proposal-rejected',
  'question-passed-on', 'question-answered', 'gate-reached', 'gate-approved', 'gate-rejected', 'gate-returned',
  'files-held', 'files-allowed', 'files-refused', 'run-fail', 'run-finish', 'run-stop', 'run-start', 'run-closed',
  'run-reopen'
);
