const wiki = () => import("./wiki/operations.ts");
const wikiFocus = () => import("./wiki/focus-operations.ts");
const reviewProposalsSection = () => import("./review/proposals/section-operations.ts");
const wikiSchema = () => import("./wiki/schema/operations.ts");
const wikiPages = () => import("./wiki/pages/operations.ts");
const wikiPagesWrite = () => import("./wiki/pages/write-operations.ts");
const wikiMergeBlame = () => import("./wiki/merge/blame.ts");
const wikiSources = () => import("./wiki/sources/operations.ts");
const graphList = () => import("./graph/list-operations.ts");
const graph = () => import("./graph/operations.ts");
const graphWalk = () => import("./graph/walk-operations.ts");
const crewReportInbox = () => import("./crew/report/inbox.ts");
const reviewProposals = () => import("./review/proposals/operations.ts");
const reviewProposalsEdit = () => import("./review/proposals/edit-operations.ts");
const reviewProposalsDesk = () => import("./review/proposals/desk-operations.ts");
const jobs = () => import("./jobs/operations.ts");
const jobsLog = () => import("./jobs/log.ts");
const jobsTranscript = () => import("./jobs/transcript-operations.ts");
const reviewPerspectives = () => import("./review/perspectives/operations.ts");
const jobsPerspective = () => import("./jobs/perspective-operations.ts");
const jobsRecheck = () => import("./jobs/recheck-operations.ts");
const jobsRevision = () => import("./jobs/revision-operations.ts");
const reviewTopics = () => import("./review/topics/operations.ts");
const reviewDispute = () => import("./review/dispute-operations.ts");
const reviewOkf = () => import("./review/okf/operations.ts");
const reviewMerge = () => import("./review/merge-operations.ts");
const trustDuplicates = () => import("./trust/duplicate-operations.ts");
const trust = () => import("./trust/operations.ts");
const people = () => import("./people/operations.ts");
const peopleNames = () => import("./people/name-operations.ts");
const crewReportActivity = () => import("./crew/report/activity.ts");
const crewReportNotices = () => import("./crew/report/notice-operations.ts");
const peopleSessions = () => import("./people/session-operations.ts");
const tasks = () => import("./tasks/operations.ts");
const crew = () => import("./crew/operations.ts");
const crewRun = () => import("./crew/run-operations.ts");
const crewReportUsage = () => import("./crew/report/usage.ts");
const crewReportTimeline = () => import("./crew/report/timeline.ts");
const crewRevert = () => import("./crew/revert.ts");
const crewGates = () => import("./crew/gate-operations.ts");
const crewSteer = () => import("./crew/steer-operations.ts");
const crewReportTranscript = () => import("./crew/report/transcript.ts");
const crewFiles = () => import("./crew/file-operations.ts");
const crewExecute = () => import("./crew/execute-operations.ts");
const crewPlan = () => import("./crew/plan/plan-operations.ts");
const crewPlanVersions = () => import("./crew/plan/version-operations.ts");
const crewPlanChange = () => import("./crew/plan/change-operations.ts");
const crewReportTaskHistory = () => import("./crew/report/task-history.ts");
const crewReportAttemptDiff = () => import("./crew/report/attempt-diff.ts");
const crewReportCitation = () => import("./crew/report/citation.ts");
const crewClean = () => import("./crew/clean.ts");
const crewMerge = () => import("./crew/merge.ts");
const crewPullRequest = () => import("./crew/pull-request.ts");
const crewTake = () => import("./crew/take-operations.ts");
const crewRerun = () => import("./crew/rerun.ts");
const crewOverturn = () => import("./crew/overturn.ts");
const search = () => import("./search/operations.ts");
const config = () => import("./config/operations.ts");
const setupFirstSteps = () => import("./setup/first-steps.ts");
const setupAgent = () => import("./setup/agent/operations.ts");
const doctor = () => import("./doctor/doctor.ts");
const doctorAcknowledge = () => import("./doctor/acknowledge.ts");
const doctorRepair = () => import("./doctor/fix.ts");
const doctorSizes = () => import("./doctor/sizes.ts");
const doctorRetention = () => import("./doctor/retention.ts");
const doctorStatus = () => import("./doctor/status.ts");

/**
 * Every operation, by name, with the module that it is loaded from when it is first called. A command that calls one
 * operation does not pay for the schemas of all others.
 */
export const loaders = {
  list_entries: pick(wiki, "listEntries"),
  fetch_entry: pick(wiki, "fetchEntry"),
  commit_entry: pick(wiki, "commitEntry"),
  append_log: pick(wiki, "appendLog"),
  transfer_focus: pick(wiki, "transferFocus"),
  list_focus: pick(wikiFocus, "listFocusRuns"),
  move_focus: pick(wikiFocus, "moveFocus"),
  search_entries: pick(wiki, "searchEntries"),
  create_section: pick(reviewProposalsSection, "createSection"),
  entry_history: pick(wiki, "entryHistory"),
  list_pages: pick(wikiPages, "listPages"),
  read_page: pick(wikiPages, "readPage"),
  check_page_path: pick(wikiPagesWrite, "checkPagePath"),
  create_page: pick(wikiPagesWrite, "createPage"),
  move_page: pick(wikiPagesWrite, "movePage"),
  entry_blame: pick(wikiMergeBlame, "entryBlame"),
  show_schema: pick(wiki, "showSchema"),
  schema_history: pick(wikiSchema, "schemaHistory"),
  preview_section_rename: pick(wikiSchema, "previewSectionRename"),
  rename_section: pick(wikiSchema, "renameSection"),
  add_source: pick(wikiSources, "addSource"),
  list_sources: pick(wikiSources, "listSources"),
  read_source: pick(wikiSources, "readSource"),
  verify_sources: pick(wikiSources, "verifySources"),
  follow_folder: pick(wikiSources, "followSources"),
  memory_search_nodes: pick(graphList, "search"),
  memory_query_nodes: pick(graphList, "queryNodes"),
  memory_get_node: pick(graph, "getNode"),
  memory_get_neighbors: pick(graphWalk, "getNeighbors"),
  memory_get_subgraph: pick(graphWalk, "getSubgraph"),
  memory_find_path: pick(graphWalk, "findPath"),
  memory_get_edge: pick(graph, "getEdge"),
  list_backlinks: pick(graphList, "listBacklinks"),
  memory_add_node: pick(graph, "addNode"),
  memory_update_node: pick(graph, "updateNode"),
  memory_delete_node: pick(graph, "deleteNode"),
  memory_add_edge: pick(graph, "addEdge"),
  memory_delete_edge: pick(graph, "deleteEdge"),
  import_graph: pick(graph, "importGraph"),
  inbox: pick(crewReportInbox, "inbox"),
  insert_proposal: pick(reviewProposals, "insertProposal"),
  propose_edit: pick(reviewProposalsEdit, "proposeEdit"),
  list_proposals: pick(reviewProposals, "listProposals"),
  summarize_proposals: pick(reviewProposals, "summarizeProposals"),
  show_proposal: pick(reviewProposals, "showProposal"),
  approve_proposal: pick(reviewProposals, "approveProposal"),
  reject_proposal: pick(reviewProposals, "rejectProposal"),
  decide_proposal: pick(reviewProposals, "decideProposal"),
  undo_decision: pick(reviewProposals, "undoDecision"),
  comment_proposal: pick(reviewProposals, "commentProposal"),
  comment_on_line: pick(reviewProposalsDesk, "commentOnLine"),
  resolve_line_comment: pick(reviewProposalsDesk, "resolveLineComment"),
  take_changes: pick(reviewProposalsDesk, "takeChanges"),
  request_revision: pick(jobsRevision, "requestRevision"),
  start_job: pick(jobs, "startJob"),
  list_jobs: pick(jobs, "listJobs"),
  show_job: pick(jobs, "showJob"),
  cancel_job: pick(jobs, "cancelJob"),
  job_log: pick(jobsLog, "jobLog"),
  job_transcript: pick(jobsTranscript, "jobTranscript"),
  list_personas: pick(reviewPerspectives, "listPersonas"),
  get_persona: pick(reviewPerspectives, "getPersona"),
  put_perspective: pick(reviewPerspectives, "putPerspective"),
  show_perspective: pick(reviewPerspectives, "showPerspective"),
  refresh_perspective: pick(jobsPerspective, "refreshPerspective"),
  open_topic: pick(reviewTopics, "openTopic"),
  list_topics: pick(reviewTopics, "listTopics"),
  get_topic: pick(reviewTopics, "getTopic"),
  list_open_topics: pick(reviewTopics, "listOpenTopics"),
  reply_topic: pick(reviewTopics, "replyTopic"),
  edit_message: pick(reviewTopics, "editMessage"),
  assign_topic: pick(reviewTopics, "assignTopic"),
  resolve_topic: pick(reviewTopics, "resolveTopic"),
  reopen_topic: pick(reviewTopics, "reopenTopic"),
  find_passage: pick(reviewTopics, "findPassage"),
  reanchor_topic: pick(reviewTopics, "reanchorTopic"),
  get_trust: pick(trust, "getTrust"),
  list_trust: pick(trust, "listTrust"),
  verify_passage: pick(trust, "verifyPassage"),
  dispute_passage: pick(reviewDispute, "disputePassage"),
  export_okf: pick(reviewOkf, "exportOkf"),
  import_okf: pick(reviewOkf, "importOkf"),
  list_duplicates: pick(trustDuplicates, "listDuplicates"),
  merge_passages: pick(reviewMerge, "mergePassages"),
  recheck_passage: pick(jobsRecheck, "recheckPassage"),
  get_passage: pick(jobsRecheck, "getPassage"),
  read_evidence: pick(jobsRecheck, "readEvidence"),
  search_evidence: pick(jobsRecheck, "searchEvidence"),
  report_recheck: pick(jobsRecheck, "reportRecheck"),
  list_rechecks: pick(jobsRecheck, "listRechecksOf"),
  confirm_recheck: pick(jobsRecheck, "confirmRecheck"),
  create_token: pick(people, "createToken"),
  list_tokens: pick(people, "listTokens"),
  revoke_token: pick(people, "revokeToken"),
  add_user: pick(people, "addUser"),
  list_users: pick(people, "listUsers"),
  change_user: pick(people, "changeUser"),
  remove_user: pick(people, "removeUser"),
  list_names: pick(peopleNames, "listNames"),
  activity: pick(crewReportActivity, "activity"),
  notifications: pick(crewReportNotices, "notifications"),
  mark_read: pick(crewReportNotices, "markRead"),
  create_sign_in_link: pick(peopleSessions, "createSignInLink"),
  list_sessions: pick(peopleSessions, "listSessions"),
  revoke_session: pick(peopleSessions, "revokeSession"),
  revoke_sessions: pick(peopleSessions, "revokeSessions"),
  list_passkeys: pick(peopleSessions, "listPasskeys"),
  remove_passkey: pick(peopleSessions, "removePasskey"),
  create_todo: pick(tasks, "createTodo"),
  list_todos: pick(tasks, "listTodos"),
  update_todo: pick(crew, "updateTodo"),
  lock_todo: pick(tasks, "lockTodo"),
  unlock_todo: pick(tasks, "unlockTodo"),
  get_task_context: pick(crew, "getTaskContext"),
  submit_plan: pick(crew, "submitPlan"),
  submit_output: pick(crew, "submitOutput"),
  submit_verdict: pick(crew, "submitVerdict"),
  ask: pick(crew, "ask"),
  answer_question: pick(crewRun, "answerQuestion"),
  list_runs: pick(crewRun, "listRuns"),
  show_run: pick(crewRun, "showRun"),
  run_report: pick(crewRun, "runReport"),
  run_usage: pick(crewReportUsage, "runUsage"),
  run_timeline: pick(crewReportTimeline, "runTimeline"),
  run_burn: pick(crewReportTimeline, "runBurn"),
  pause_run: pick(crewRun, "pauseRun"),
  cancel_run: pick(crewRun, "cancelRun"),
  close_run: pick(crewRun, "closeFailedRun"),
  rerun_run: pick(crewRerun, "rerunRun"),
  merge_run: pick(crewMerge, "mergeRun"),
  open_pull_request: pick(crewPullRequest, "openPullRequest"),
  clean_runs: pick(crewClean, "cleanRuns"),
  revert_run: pick(crewRevert, "revertRun"),
  show_held_files: pick(crewFiles, "showHeldFiles"),
  allow_files: pick(crewFiles, "allowFiles"),
  refuse_files: pick(crewFiles, "refuseFiles"),
  show_gate: pick(crewGates, "showGate"),
  approve_task: pick(crewGates, "approveTask"),
  reject_task: pick(crewGates, "rejectTask"),
  return_task: pick(crewGates, "returnTask"),
  steer_task: pick(crewSteer, "steerTask"),
  run_transcript: pick(crewReportTranscript, "runTranscript"),
  start_run: pick(crewExecute, "startRun"),
  list_request_templates: pick(crewExecute, "listRequestTemplates"),
  execute_run: pick(crewExecute, "executeRun"),
  show_plan: pick(crewPlan, "showPlan"),
  check_plan: pick(crewPlan, "checkPlan"),
  save_plan: pick(crewPlan, "savePlan"),
  list_plan_versions: pick(crewPlanVersions, "listPlanVersions"),
  show_plan_version: pick(crewPlanVersions, "showPlanVersion"),
  restore_plan_version: pick(crewPlanVersions, "restorePlanVersion"),
  replan_run: pick(crewPlanChange, "replanRun"),
  show_plan_change: pick(crewPlanChange, "showPlanChange"),
  confirm_plan_change: pick(crewPlanChange, "confirmPlanChange"),
  reject_plan_change: pick(crewPlanChange, "rejectPlanChange"),
  task_record: pick(crewReportTaskHistory, "taskRecord"),
  attempt_diff: pick(crewReportAttemptDiff, "attemptDiff"),
  show_citation: pick(crewReportCitation, "showCitation"),
  metrics: pick(crewRun, "metrics"),
  release_task: pick(tasks, "releaseTask"),
  take_task: pick(crewTake, "takeOver"),
  hand_back_task: pick(crewTake, "handBackTask"),
  overturn_task: pick(crewOverturn, "overturnTask"),
  search: pick(search, "search"),
  recall: pick(search, "recall"),
  model_status: pick(search, "modelStatus"),
  install_model: pick(search, "installLocalModel"),
  rebuild_search: pick(search, "rebuildSearch"),
  limit_run: pick(tasks, "limitRun"),
  show_settings: pick(config, "showSettings"),
  allow_settings: pick(config, "allowSettings"),
  revoke_settings: pick(config, "revokeSettings"),
  first_steps: pick(setupFirstSteps, "firstSteps"),
  show_agents: pick(setupAgent, "showAgents"),
  configure_agent: pick(setupAgent, "configureAgent"),
  test_agent: pick(setupAgent, "testAgent"),
  status: pick(doctorStatus, "status"),
  show_sizes: pick(doctorSizes, "showSizes"),
  apply_retention: pick(doctorRetention, "applyRetention"),
  doctor: pick(doctor, "doctor"),
  doctor_fix: pick(doctorRepair, "doctorFix"),
  acknowledge_finding: pick(doctorAcknowledge, "acknowledgeFinding"),
};

type Loaders = typeof loaders;
export type OperationName = keyof Loaders;
export type Operations = { [N in OperationName]: Awaited<ReturnType<Loaders[N]>> };

export const isOperation = (name: string): name is OperationName => Object.hasOwn(loaders, name);

function pick<M extends Record<K, unknown>, K extends string>(load: () => Promise<M>, name: K) {
  return async (): Promise<M[K]> => (await load())[name];
}
