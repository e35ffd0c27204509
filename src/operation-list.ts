import type * as z from "zod";
import { executeRun, startRun } from "./crew/execute-operations.ts";
import * as crew from "./crew/operations.ts";
import { overturnTask } from "./crew/overturn.ts";
import { savePlan, showPlan } from "./crew/plan/plan-operations.ts";
import type { CrewApp } from "./crew/record/crew-app.ts";
import { inbox } from "./crew/report/inbox.ts";
import { taskRecord } from "./crew/report/task-history.ts";
import { runUsage } from "./crew/report/usage.ts";
import { revertRun } from "./crew/revert.ts";
import * as runs from "./crew/run-operations.ts";
import { doctor } from "./doctor/doctor.ts";
import { status } from "./doctor/status.ts";
import * as graphLists from "./graph/list-operations.ts";
import * as graph from "./graph/operations.ts";
import * as graphWalks from "./graph/walk-operations.ts";
import { jobLog } from "./jobs/log.ts";
import * as jobs from "./jobs/operations.ts";
import { refreshPerspective } from "./jobs/perspective-operations.ts";
import type { Operation } from "./kernel/operation.ts";
import * as people from "./people/operations.ts";
import type { PeopleApp } from "./people/people-app.ts";
import * as perspectives from "./review/perspectives/operations.ts";
import * as review from "./review/proposals/operations.ts";
import { createSection } from "./review/proposals/section-operations.ts";
import * as topics from "./review/topics/operations.ts";
import * as search from "./search/operations.ts";
import * as tasks from "./tasks/operations.ts";
import { entryBlame } from "./wiki/merge/blame.ts";
import * as wiki from "./wiki/operations.ts";
import * as pages from "./wiki/pages/operations.ts";
import * as sources from "./wiki/sources/operations.ts";

/** All there is. The faces are loops over this list. */
export const operations = {
  list_entries: wiki.listEntries,
  fetch_entry: wiki.fetchEntry,
  commit_entry: wiki.commitEntry,
  append_log: wiki.appendLog,
  transfer_focus: wiki.transferFocus,
  search_entries: wiki.searchEntries,
  create_section: createSection,
  entry_history: wiki.entryHistory,
  list_pages: pages.listPages,
  read_page: pages.readPage,
  entry_blame: entryBlame,
  show_schema: wiki.showSchema,
  add_source: sources.addSource,
  list_sources: sources.listSources,
  read_source: sources.readSource,
  verify_sources: sources.verifySources,
  follow_folder: sources.followSources,
  memory_search_nodes: graphLists.search,
  memory_query_nodes: graphLists.queryNodes,
  memory_get_node: graph.getNode,
  memory_get_neighbors: graphWalks.getNeighbors,
  memory_get_subgraph: graphWalks.getSubgraph,
  memory_find_path: graphWalks.findPath,
  memory_get_edge: graph.getEdge,
  list_backlinks: graphLists.listBacklinks,
  memory_add_node: graph.addNode,
  memory_update_node: graph.updateNode,
  memory_delete_node: graph.deleteNode,
  memory_add_edge: graph.addEdge,
  memory_delete_edge: graph.deleteEdge,
  import_graph: graph.importGraph,
  inbox,
  insert_proposal: review.insertProposal,
  list_proposals: review.listProposals,
  show_proposal: review.showProposal,
  approve_proposal: review.approveProposal,
  reject_proposal: review.rejectProposal,
  comment_proposal: review.commentProposal,
  request_revision: review.requestRevision,
  start_job: jobs.startJob,
  list_jobs: jobs.listJobs,
  show_job: jobs.showJob,
  cancel_job: jobs.cancelJob,
  job_log: jobLog,
  list_personas: perspectives.listPersonas,
  get_persona: perspectives.getPersona,
  put_perspective: perspectives.putPerspective,
  show_perspective: perspectives.showPerspective,
  refresh_perspective: refreshPerspective,
  open_topic: topics.openTopic,
  list_topics: topics.listTopics,
  get_topic: topics.getTopic,
  list_open_topics: topics.listOpenTopics,
  reply_topic: topics.replyTopic,
  edit_message: topics.editMessage,
  resolve_topic: topics.resolveTopic,
  reopen_topic: topics.reopenTopic,
  reanchor_topic: topics.reanchorTopic,
  create_token: people.createToken,
  list_tokens: people.listTokens,
  revoke_token: people.revokeToken,
  add_user: people.addUser,
  list_users: people.listUsers,
  change_user: people.changeUser,
  remove_user: people.removeUser,
  create_todo: tasks.createTodo,
  list_todos: tasks.listTodos,
  update_todo: tasks.updateTodo,
  lock_todo: tasks.lockTodo,
  unlock_todo: tasks.unlockTodo,
  get_task_context: crew.getTaskContext,
  submit_plan: crew.submitPlan,
  submit_output: crew.submitOutput,
  submit_verdict: crew.submitVerdict,
  ask: crew.ask,
  answer_question: runs.answerQuestion,
  list_runs: runs.listRuns,
  show_run: runs.showRun,
  run_report: runs.runReport,
  run_usage: runUsage,
  cancel_run: runs.cancelRun,
  revert_run: revertRun,
  start_run: startRun,
  execute_run: executeRun,
  show_plan: showPlan,
  save_plan: savePlan,
  task_record: taskRecord,
  metrics: runs.metrics,
  release_task: tasks.releaseTask,
  overturn_task: overturnTask,
  search: search.search,
  recall: search.recall,
  model_status: search.modelStatus,
  install_model: search.installLocalModel,
  rebuild_search: search.rebuildSearch,
  limit_run: tasks.limitRun,
  status,
  doctor,
};

export type Operations = typeof operations;
export type OperationName = keyof Operations;

type WholeApp = CrewApp & PeopleApp;

export const allOperations: Operation<WholeApp>[] = Object.values(operations);

const byName: { [N in OperationName]: Operation<WholeApp, z.ZodType, Operations[N]["output"]> } = operations;

/** An operation by a name that is only known when it is called; its answer is typed all the same. */
export const operationNamed = <N extends OperationName>(name: N) => byName[name];
