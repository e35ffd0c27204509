import type { Generated } from "kysely";
import type { CrewTables } from "./crew-tables.ts";
import type { TrustTables } from "./trust-tables.ts";

/** The tables as both engines have them. Times are ISO strings, JSON is text, booleans are 0 and 1. */
export interface Tables extends CrewTables, TrustTables {
  meta: { key: string; value: string };
  schema_migrations: { name: string; applied_at: string };
  events: EventRow;
  event_chain: { position: number; seq: number; hash: string };
  /** PostgreSQL only. */
  event_gaps: { first: number; last: number; holders: string };
  idempotency: IdempotencyRow;
  entries: EntryRow;
  entry_versions: EntryVersionRow;
  schema_versions: SchemaVersionRow;
  /** The sections of the schema in force. */
  sections: { id: string; title: string };
  section_renames: { old_id: string; new_id: string; at: string; renamed_by: string };
  search_queue: { ticket: Generated<number>; kind: string; thing: string };
  things: ThingRow;
  passages: PassageRow;
  /** PostgreSQL has other columns; queries/search/index-rows.ts fills both. */
  passage_text: { rowid: number; title: string; body: string; near: string };
  passage_links: { passage: number; target: string };
  vocabulary: { word: string };
  vectors: { seq: Generated<number>; model: string; hash: string; scale: number; vector: Buffer };
  pages: { path: string; stat: string; blob: string };
  source_texts: { sha256: string; format: string; text: string };
  git_queue: GitQueueRow;
  handoffs: HandoffRow;
  focus: FocusRow;
  focus_reads: FocusReadRow;
  sources: SourceRow;
  proposals: ProposalRow;
  proposal_comments: ProposalCommentRow;
  line_comments: LineCommentRow;
  perspectives: PerspectiveRow;
  tokens: TokenRow;
  sessions: SessionRow;
  sign_in_codes: SignInCodeRow;
  passkeys: PasskeyRow;
  identities: IdentityRow;
  sign_in_challenges: { hash: string; data: string; expires_at: string };
  agent_jobs: JobRow;
  rechecks: RecheckRow;
  job_transcript: JobTranscriptRow;
  users: UserRow;
  tasks: TaskRow;
  run_limits: { run: string; max_held: number };
  task_dependencies: { task_id: string; depends_on: string };
  entry_links: { entry_id: string; to_id: string };
  nodes: NodeRow;
  edges: EdgeRow;
  topics: TopicRow;
  messages: MessageRow;
  mentions: MentionRow;
  assignments: AssignmentRow;
  read_marks: ReadMarkRow;
  page_texts: { blob: string; text: string };
  acknowledged_findings: AcknowledgedFindingRow;
}

export interface EventRow {
  seq: Generated<number>;
  at: string;
  actor: string;
  kind: string;
  subject: string;
  data: string;
}

/** A call that carried an idempotency key. */
export interface IdempotencyRow {
  id: string;
  operation: string;
  input_hash: string;
  call: string;
  state: "running" | "done" | "failed";
  answer: string | null;
  holder: string;
  at: string;
}

export interface EntryRow {
  num: Generated<number>;
  id: string;
  version: number;
  /** The git blob of the file's bytes. */
  blob: string;
  last_author: string;
  title: string | null;
  words: number;
  updated_at: string;
  /** The file's stat when `blob` was taken from it; empty in the database store. */
  stat: string;
  indexed: Generated<number>;
  /** JSON list of the node ids that its text links to; null until the text has been read. */
  links: string | null;
}

export interface EntryVersionRow {
  entry_id: string;
  version: number;
  blob: string;
  /** Database store: the text or, when `appended`, its addition. Null in the file store, which has it in git. */
  content: string | null;
  appended: number;
  author: string;
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
  at: string;
  summary: string;
}

/** A valid schema.yaml that was in force. */
export interface SchemaVersionRow {
  version: number;
  blob: string;
  content: string;
  author: string;
  at: string;
  summary: string;
  /** JSON: what changed, in words. */
  changes: string;
}

/** File versions that the recorder has to write into git. */
export interface GitQueueRow {
  seq: Generated<number>;
  path: string;
  blob: string;
  /** The blob of the previous version. */
  base: string | null;
  /** The bytes or, when `appended`, those that follow `base`; null once git has them. */
  content: Buffer | null;
  appended: number;
  author: string;
  by_person: number;
  message: string;
  at: string;
  in_history: Generated<number>;
  /** The only blob that the commit to the person's branch may replace; null for any. */
  only_on: string | null;
  /** The path that a renamed file had before; the commit removes it. */
  moved_from: string | null;
  /** The temporary name of the file, renamed after the commit; null once that is durable, and for a person's edit. */
  staged: string | null;
  /** The blob of the file's bytes that it replaces; null for a new file. */
  replaces: string | null;
  /** Versions of one group become one commit of the branch; null for a commit of its own. */
  commit_group: string | null;
}

export interface HandoffRow {
  id: string;
  run: string;
  step: number;
  from_role: string;
  requested: string;
  to_role: string | null;
  summary: string;
  at: string;
  taken_at: string | null;
}

/** A run along the pipeline. */
export interface FocusRow {
  run: string;
  /** The role that holds the focus; null once the run has ended. */
  holder: string | null;
  /** Number of handoffs so far. */
  step: number;
  /** Rises with each change of the holder. */
  epoch: number;
  since: string;
  /** The holder's first act. */
  begun_at: string | null;
  active_at: string;
  handed_by: string | null;
  /** Token of the agent that began a run without a name; null for a named run. */
  owner: string | null;
  ended: string | null;
}

export interface FocusReadRow {
  run: string;
  epoch: number;
  entry_id: string;
  nth: number;
}

export interface SourceRow {
  path: string;
  sha256: string;
  size: number;
  added_by: string;
  at: string;
  /** The file in a watched folder that it was copied from. */
  origin: Generated<string | null>;
  /** When that file was changed or removed; search leaves the source out from then on. */
  gone_at: Generated<string | null>;
}

/** Anything that search can find. */
export interface ThingRow {
  num: Generated<number>;
  kind: string;
  id: string;
  title: string;
  author: string;
  at: string;
  run: string;
  /** A node's type; for everything else the kind. */
  type: string;
}

/** A part of a thing as search shows it; the engines index it in a form of their own. */
/** A turn of a conversation, a line of a log, or other text. */
export type PassageShape = "turn" | "log" | "text";

export interface PassageRow {
  num: Generated<number>;
  thing: number;
  part: number;
  heading: string;
  line: number;
  body: string;
  shape: PassageShape;
  /** Hash of the embedded text. */
  hash: string;
  /** Hash of everything indexed. */
  state: string;
}

export interface ProposalRow {
  id: string;
  kind: string;
  subject: string;
  data: string;
  proposed_by: string | null;
  status: "open" | "approved" | "rejected" | "superseded";
  created_at: string;
  decided_at: string | null;
  decided_by: string | null;
  note: string | null;
  /** This and the columns below are for pages only. */
  topic_id: string | null;
  revision_number: number | null;
  /** The git blob of the page that the text was made from; `base_text` is its content. */
  base_source_sha: string | null;
  base_text: string | null;
  text: string | null;
  job_id: string | null;
  /** JSON: the intent of an approval in a store outside the database, saved before its text is published there. */
  publishing: string | null;
  /** The approval as signed by its person; null without `approvals: signed`. */
  signature: string | null;
}

export interface ProposalCommentRow {
  id: string;
  proposal_id: string;
  author: string;
  text: string;
  wants_revision: number;
  at: string;
}

/** A message of a topic about one line of a proposal: `old` of its base text, `new` of the proposed one. */
export interface LineCommentRow {
  topic_id: string;
  seq: number;
  proposal_id: string;
  side: "old" | "new";
  line: number;
  quote: string;
  resolved_by: string | null;
  resolved_at: string | null;
}

export interface JobTranscriptRow {
  job_id: string;
  n: number;
  at: string;
  kind: string;
  data: string;
}

export interface PerspectiveRow {
  path: string;
  persona: string;
  source_sha: string;
  persona_sha: string;
  skill_sha: string;
  text: string;
  job_id: string | null;
  at: string;
}

export interface TokenRow {
  id: string;
  hash: string;
  kind: "agent" | "person";
  name: string;
  role: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

/** The person that a session, code or passkey signs in. */
export interface GrantColumns {
  person: string;
  is_owner: number;
  token_id: string | null;
}

export interface SessionRow extends GrantColumns {
  id: string;
  hash: string;
  page_hash: string;
  user_agent: string;
  created_at: string;
  seen_at: string;
  expires_at: string;
  revoked_at: string | null;
}

export interface SignInCodeRow extends Omit<GrantColumns, "token_id"> {
  hash: string;
  expires_at: string;
}

export interface IdentityRow {
  issuer: string;
  subject: string;
  person: string;
  created_at: string;
  seen_at: string;
  left_at: string | null;
}

export interface PasskeyRow extends GrantColumns {
  id: string;
  credential: string;
  public_key: string;
  counter: number;
  /** JSON list. */
  transports: string;
  name: string;
  created_at: string;
  used_at: string | null;
}

export interface JobRow {
  id: string;
  kind: "incorporate" | "perspective" | "recheck";
  source_path: string;
  topic_id: string | null;
  persona_name: string | null;
  passage: string | null;
  status: "queued" | "running" | "succeeded" | "failed" | "timed_out";
  started_at: string | null;
  completed_at: string | null;
  exit_code: number | null;
  error_tail: string | null;
  created_at: string;
  created_by: string;
  message: string | null;
  holder: string | null;
  beat_at: number | null;
  cancelled_by: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  tool_calls: number | null;
  messages: number | null;
  cost_usd: number | null;
  duration_ms: number | null;
  destinations: string | null;
}

export interface RecheckRow {
  id: string;
  job_id: string;
  subject: string;
  hash: string;
  text: string;
  outcome: "holds" | "wrong" | "unclear";
  note: string;
  evidence: string;
  topic_id: string | null;
  at: string;
  confirmed_by: string | null;
  confirmed_at: string | null;
}

export interface UserRow {
  name: string;
  email: string | null;
  role: "reader" | "collaborator" | "admin";
  created_at: string;
  removed_at: string | null;
}

export interface TaskRow {
  num: Generated<number>;
  id: string;
  run: string | null;
  title: string;
  description: string;
  state: string;
  priority: number;
  /** The sort key of the queue: creation time in milliseconds, moved forward by priority. */
  turn_at: number;
  attempt: number;
  max_retries: number;
  blockers_left: number;
  lost_blockers: number;
  epoch: number;
  holder: string | null;
  /** In milliseconds of the store's clock, like `lease_until`. */
  claimed_at: number | null;
  lease_until: number | null;
  /** SHA-256 of the secret of the claim; null while nobody holds the task. */
  secret_hash: string | null;
  result: string;
  version: number;
  /**
   * 1 once another task depends on it. The flag is in the task's own row, so that completing the task and
   * adding a dependent lock the same row and cannot miss each other.
   */
  awaited: Generated<number>;
  created_at: string;
  created_by: string;
  updated_at: string;
}

export interface NodeRow {
  num: Generated<number>;
  id: string;
  type: string;
  title: string;
  properties: string;
  version: number;
  created_at: string;
  updated_at: string;
  created_by: string;
  /** The context of the last write. */
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
  attempt: number | null;
}

export interface EdgeRow {
  num: Generated<number>;
  id: string;
  type: string;
  from_id: string;
  to_id: string;
  properties: string;
  created_at: string;
  created_by: string;
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
  attempt: number | null;
}

/** A finding of doctor that a person accepted as it is. */
export interface AcknowledgedFindingRow {
  id: string;
  kind: string;
  subject: string;
  message: string;
  note: string;
  by_name: string;
  at: string;
}

export interface TopicRow {
  id: string;
  path: string;
  /** The graph node of its page. */
  about: string | null;
  kind: "change" | "question";
  status: "open" | "resolved";
  messages: number;
  created_by: string;
  created_at: string;
  resolved_by: string | null;
  resolved_at: string | null;
  /** JSON: the last certain position. */
  anchor: string | null;
  anchor_blob: string | null;
  anchor_state: "anchored" | "moved" | "needs-review" | "orphaned" | null;
  /** JSON: the position in the present text, while it is uncertain. */
  place: string | null;
  first_quote: string | null;
  /** The page's text at the last update of the columns above. */
  seen_blob: string;
  /** JSON: the result for each of the last texts of the page, newest first. */
  places: string;
}

export interface MentionRow {
  topic_id: string;
  /** Of the message. */
  seq: number;
  kind: "person" | "agent";
  name: string;
}

export interface AssignmentRow {
  /** `topic:<id>`. */
  subject: string;
  person: string;
  assigned_by: string;
  assigned_at: string;
}

export interface ReadMarkRow {
  person: string;
  /** `topic:<id>`, `notices` or `everything`. */
  subject: string;
  /** Of the message, or of the event for `notices`. */
  seq: number;
  read_at: string;
}

export interface MessageRow {
  topic_id: string;
  seq: number;
  author: string;
  author_kind: "person" | "agent";
  text: string;
  created_at: string;
  edited_at: string | null;
}
