/** The tables of the crew. JSON is text, booleans are 0 and 1; the migration describes the columns. */
export interface CrewTables {
  runs: RunRow;
  run_tasks: RunTaskRow;
  attempts: AttemptRow;
  check_results: CheckResultRow;
  verdicts: VerdictRow;
  contexts: ContextRow;
  fingerprints: FingerprintRow;
  tool_calls: ToolCallRow;
  spends: SpendRow;
  questions: QuestionRow;
  agent_reports: AgentReportRow;
  preambles: PreambleRow;
  held_files: HeldFilesRow;
  gates: GateRow;
  steering_messages: SteeringMessageRow;
  transcript: TranscriptRow;
  run_workers: RunWorkersRow;
  plan_drafts: PlanDraftRow;
  plan_changes: PlanChangeRow;
  setups: SetupRow;
  git_packs: GitPackRow;
  git_pack_chunks: GitPackChunkRow;
  run_commits: RunCommitRow;
  run_branches: RunBranchRow;
}

export interface RunRow {
  id: string;
  state: "planning" | "planned" | "running" | "stopped" | "completed" | "failed" | "cancelled";
  request: string;
  brief: string | null;
  title: string;
  plan: string | null;
  plan_hash: string | null;
  budget_tokens: number | null;
  budget_usd: number | null;
  reason: string | null;
  stopped_by: "person" | "budget" | "other" | null;
  created_at: string;
  created_by: string;
  planned_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  version: number;
  carried_by: string | null;
  carrier_until: number | null;
}

export interface GitPackRow {
  id: string;
  bytes: number;
  chunks: number;
  complete: number;
  created_at: string;
}

export interface GitPackChunkRow {
  pack_id: string;
  num: number;
  data: Uint8Array;
}

export interface RunCommitRow {
  run_id: string;
  commit_id: string;
  pack_id: string;
  needs: string;
  is_base: number;
}

export interface RunBranchRow {
  run_id: string;
  base_id: string;
  accepted_id: string;
}

export interface RunTaskRow {
  task_id: string;
  run_id: string;
  number: string;
  requirements: string;
  worker_role: string;
  qc_role: string;
  criteria: string;
  execution: string;
  files: string;
  deliverable: "files" | "text";
  estimated_tool_calls: number | null;
  model: string | null;
  notes: string;
  failure: string | null;
  gate: "person" | null;
  on_reject: "fail" | "stop" | null;
  start_epoch: number | null;
  start_since: number | null;
}

export interface GateRow {
  task_id: string;
  epoch: number;
  run_id: string;
  hash: string;
  base_id: string | null;
  commit_id: string | null;
  held_at: string;
  decision: "approved" | "returned" | "rejected" | null;
  note: string | null;
  decided_by: string | null;
  decided_at: string | null;
}

export interface SteeringMessageRow {
  id: string;
  run_id: string;
  task_id: string;
  content: string;
  sent_by: string;
  sent_at: string;
  delivered: "turn" | "tool_result" | "context" | null;
  delivered_at: string | null;
  epoch: number | null;
}

export interface TranscriptRow {
  run_id: string;
  n: number;
  context_id: string;
  at: string;
  kind: string;
  call_id: string | null;
  data: string;
}

export interface AttemptRow {
  task_id: string;
  epoch: number;
  run_id: string;
  attempt: number;
  phase: "worker_executing" | "worker_completed" | "qc_executing" | "qc_passed" | "qc_failed" | "abandoned";
  worker: string;
  is_retry: number;
  retry_reason: string | null;
  started_at: string;
  output: string | null;
  output_characters: number | null;
  deliverable_hash: string | null;
  claims: string;
  decisions: string;
  cites: string;
  files_changed: string;
  branch: string | null;
  commit_id: string | null;
  worker_ended_at: string | null;
  duration_ms: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  tool_calls: number | null;
  messages: number | null;
  context_tokens: number | null;
  cost_usd: number | null;
  stopped_because: string | null;
  partial: string | null;
  verifier: string | null;
  topics: string;
  qc_epoch: number | null;
  qc_started_at: string | null;
  ended_at: string | null;
  error_context: string | null;
  learnt_at: string | null;
  refused_verdicts: string;
}

export interface CheckResultRow {
  task_id: string;
  epoch: number;
  criterion: number;
  deliverable_hash: string;
  passed: number;
  detail: string;
  duration_ms: number;
  at: string;
}

export interface VerdictRow {
  id: string;
  run_id: string;
  task_id: string;
  epoch: number;
  attempt: number;
  deliverable_hash: string;
  verifier: string;
  said: "PASS" | "FAIL";
  outcome: "PASS" | "FAIL";
  score: number;
  feedback: string;
  issues: string;
  required_fixes: string;
  evidence: string;
  caused_by: string;
  objections: string;
  at: string;
  voided_at: string | null;
  void_reason: string | null;
  scratch: string | null;
}

export interface ContextRow {
  id: string;
  run_id: string;
  task_id: string | null;
  epoch: number | null;
  attempt: number | null;
  part: "brief" | "pm" | "preamble" | "worker" | "qc" | "reporter";
  agent: string;
  runner: string;
  model: string | null;
  characters: number;
  tokens: number;
  parts: string;
  repeats: number;
  repeat_characters: number;
  removed_characters: number;
  started_at: string;
  ended_at: string | null;
  ended: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  tool_calls: number | null;
  messages: number | null;
  cost_usd: number | null;
  destinations: string | null;
  compactions: string | null;
}

export interface FingerprintRow {
  hash: string;
  kind: string;
  characters: number;
  first_seen: string;
  first_run: string;
  uses: number;
}

export interface ToolCallRow {
  id: string;
  run_id: string;
  context_id: string | null;
  task_id: string | null;
  epoch: number | null;
  part: string;
  name: string;
  ok: number;
  input: string;
  output: string;
  output_bytes: number;
  retrieved: string;
  duration_ms: number;
  at: string;
}

export interface SpendRow {
  id: string;
  run_id: string;
  context_id: string | null;
  task_id: string | null;
  epoch: number | null;
  part: string;
  model: string | null;
  state: "reserved" | "settled" | "released";
  reserved_tokens: number;
  reserved_usd: number | null;
  tokens: number | null;
  usd: number | null;
  at: string;
  settled_at: string | null;
}

export interface QuestionRow {
  id: string;
  run_id: string;
  task_id: string;
  epoch: number;
  asked_by: string;
  question: string;
  at: string;
  answer: string | null;
  answered_by: string | null;
  answered_at: string | null;
  passed_on: string | null;
}

export interface AgentReportRow {
  run_id: string;
  kind: "qc_failure" | "pm_failure" | "final";
  about: string;
  task_id: string | null;
  part: "qc" | "pm" | "reporter";
  process: string;
  started_at: string;
  agent: string | null;
  model: string | null;
  content: string | null;
  missing: string | null;
  ended_at: string | null;
}

export interface PreambleRow {
  hash: string;
  kind: "worker" | "qc";
  role: string;
  text: string;
  made_by: string;
  made_at: string;
  uses: number;
}

export interface HeldFilesRow {
  task_id: string;
  hash: string;
  run_id: string;
  epoch: number;
  base_id: string;
  commit_id: string;
  files: string;
  held_at: string;
  decision: "allowed" | "refused" | null;
  note: string | null;
  decided_by: string | null;
  decided_at: string | null;
}

export interface RunWorkersRow {
  id: string;
  run_id: string;
  name: string;
  workers: number;
  started_at: string;
  ended_at: string | null;
  claims: number;
  conflicts: number;
  late: number;
  claim_p50_ms: number;
  claim_p99_ms: number;
  idle_ms: number;
  busy_ms: number;
}

/** A quote and where it can be seen. `ref` is the id of a tool call, the path of a file, or the number of a check's criterion. */
export type Citation = { quote: string; from: "call" | "file" | "check" | "output"; ref: string; lines: string };

/** A statement of a worker about its work; `evidence` is the quote. Column `attempts.claims`. */
export type Statement = { statement: string; evidence: string } & Omit<Citation, "quote">;

/** A verifier's evidence for one criterion, numbered from 1; `absent` if it is that something is missing. Column `verdicts.evidence`. */
export type Evidence = { criterion: number; met: boolean; absent: boolean } & Citation;

/** A verdict whose evidence did not resolve, and which its verifier may correct once. Column `attempts.refused_verdicts`. */
export type RefusedVerdict = { context: string | null; epoch: number; at: string; faults: string[] };

/** The summary of a failed attempt for the next worker (O9). Column `attempts.error_context`. */
export type ErrorContext = {
  attempt: number;
  summary: string;
  score: number | null;
  feedback: string;
  issues: string[];
  requiredFixes: string[];
  /** The checks that failed, with their output. */
  checks: { criterion: number; detail: string }[];
  evidence: { criterion: number; quote: string; from: string; ref?: string; lines?: string }[];
  output: string;
  stoppedBecause: string | null;
};

/** The attempts of a failed task in retrospect. Column `run_tasks.failure`. */
export type Failure = {
  timeline: {
    attempt: number;
    at: string;
    worker: string;
    verifier: string | null;
    score: number | null;
    outcome: string;
    reason: string;
  }[];
  scores: { lowest: number | null; highest: number | null; average: number | null; progression: number[] };
  /** `output`: the end of what the failed check printed. */
  rootCauses: { cause: string; attempts: number[]; output?: string }[];
  recommendations: string[];
};

/** The sections of an agent's report: a text, or a list of points. Column `agent_reports.content`. */
export type ReportSections = Record<string, string | string[]>;

/** A file of a deliverable that waits for a person, and why. `blob` is null if it was deleted. Column `held_files.files`. */
export type HeldFile = { path: string; status: "added" | "changed" | "deleted"; blob: string | null; why: string };

/** A criterion of a plan's task, as `rules/plan.ts` validates it. Column `run_tasks.criteria`. */
export type StoredCriterion = {
  criterion: string;
  check?:
    | { run: string[]; exits: number; prints?: string | undefined }
    | { file: string; exists: boolean }
    | { file: string; contains: string }
    | { file: string; lacks: string }
    | undefined;
};

export interface PlanDraftRow {
  run_id: string;
  number: string;
  task: string;
  at: string;
}

export interface PlanChangeRow {
  id: string;
  run_id: string;
  state: "drafting" | "open" | "confirmed" | "rejected" | "superseded" | "failed";
  base_hash: string;
  tasks: string;
  message: string | null;
  draft: string;
  plan: string | null;
  reason: string | null;
  process: string;
  process_until: number | null;
  requested_by: string;
  requested_at: string;
  proposed_by: string | null;
  proposed_at: string | null;
  decided_by: string | null;
  decided_at: string | null;
  note: string | null;
}

export interface SetupRow {
  id: string;
  run_id: string;
  task_id: string | null;
  hash: string;
  commands: string;
  origin: string;
  state: "running" | "installed" | "reused" | "failed";
  started_at: string;
  ended_at: string | null;
  bytes: number | null;
  files: number | null;
  error: string | null;
  destinations: string | null;
}
