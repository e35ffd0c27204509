import type * as z from "zod";
import { type App, openApp } from "./app.ts";
import { environment, findWorkspace, loadConfig } from "./config/config.ts";
import type { CrewAgents } from "./crew/agent/parts.ts";
import type { News } from "./crew/attempt/crew.ts";
import type { Outcome } from "./crew/attempt/execute.ts";
import type { Planned } from "./crew/plan/planner.ts";
import { type Caller, newTurn, type Person } from "./kernel/caller.ts";
import { type Problem, type Result, refusalFor, unwrap } from "./kernel/result.ts";
import { type OperationName, type Operations, operations } from "./operation-list.ts";
import { type Execute, type WorkerPool, workerPool } from "./tasks/pool.ts";
import type { Entry } from "./wiki/entry.ts";
import type { Catalogue, Transfer } from "./wiki/knowledge.ts";

type Inputs = { [N in OperationName]: z.input<Operations[N]["input"]> };
type Outputs = { [N in OperationName]: z.output<Operations[N]["output"]> };

export type { Caller, CrewAgents, Entry, Execute, News, OperationName, Outcome, Planned, Problem, Result, WorkerPool };

/** A refusal as agents get it: `status` is denied, conflict, refused, invalid or not_found. */
export type Refusal = { status: Problem["code"]; error?: string; message?: string } & Record<string, unknown>;

/** The protocol of K3 for one agent in one role; the backend behind it is configuration. */
export interface RoleStore {
  listEntries(): Promise<Catalogue | Refusal>;
  fetchEntry(id: string): Promise<Entry | Refusal>;
  commitEntry(id: string, content: string, version: number): Promise<{ status: "success"; version: number } | Refusal>;
  appendLog(id: string, line: string): Promise<{ status: "success"; version: number; line: string } | Refusal>;
  transferFocus(target: string, summary: string): Promise<Transfer | Refusal>;
}

export interface Workspace {
  root: string;
  /** Performs any operation, as the person named or as an agent. */
  call<N extends OperationName>(name: N, input: Inputs[N], caller?: Caller): Promise<Result<Outputs[N]>>;
  /** One agent's turn after turn, with its read cap and handoffs. */
  as(role: string, run?: string): RoleStore;
  /** Workers of this process for the tasks of this workspace (or of one run); `execute` does the work. */
  workers(name: string, execute: Execute, run?: string): WorkerPool;
  /** The planner makes a run of a request; its plan waits in a file until it is executed. */
  plan(request: string, how?: Carrying & { brief?: boolean }): Promise<Result<Planned>>;
  /** Workers do what is ready, verifiers judge what is done, until nothing is left. */
  execute(run: string, how?: Carrying & { workers?: number; tell?: (news: News) => void }): Promise<Result<Outcome>>;
  close(): Promise<void>;
}

/** Who plays the parts (the configuration says so if left out), and how to stop them. */
type Carrying = { agents?: CrewAgents; signal?: AbortSignal };

/** Opens the workspace that holds `folder`: the same operations as every other face, typed. */
export async function openWorkspace(folder = "."): Promise<Workspace> {
  const root = unwrap(findWorkspace(folder));
  const app = await openApp(unwrap(loadConfig(root, environment())));
  const person = await app.git.person();
  const owner: Person = { kind: "person", name: person?.name ?? "owner", rank: "admin" };

  return {
    root,
    call: (name, input, caller = owner) => operations[name].perform(app, input, caller) as never,
    as(role, run) {
      const store = app.knowledge({ kind: "agent", role, turn: newTurn(run, true) });
      return {
        listEntries: async () => answer(await store.listEntries()),
        fetchEntry: async (id) => answer(await store.fetchEntry(id)),
        commitEntry: async (id, content, version) => answer(await store.commitEntry(id, content, version)),
        appendLog: async (id, line) => answer(await store.appendLog(id, line)),
        transferFocus: async (target, summary) => answer(await store.transferFocus(target, summary)),
      };
    },
    workers(name, execute, run) {
      const { leaseMs } = app.config.claims;
      return workerPool({ db: app.db, tasks: app.tasks, execute, name, leaseMs, ...(run ? { run } : {}) });
    },
    plan: (request, how = {}) => plan(app, request, how, owner.name),
    execute: (run, how = {}) => execute(app, run, how, owner.name),
    close: () => app.close(),
  };
}

/** What plans and executes is loaded when it is first used. */
async function plan(app: App, request: string, how: Carrying & { brief?: boolean }, by: string) {
  const { planRequest } = await import("./crew/plan/planner.ts");
  const { planningOf } = await import("./executing.ts");
  const { agents, brief = false, signal = new AbortController().signal } = how;
  return planRequest(planningOf(app, agents), request, { brief, by }, signal);
}

type Executing = Carrying & { workers?: number; tell?: (news: News) => void };

async function execute(app: App, run: string, how: Executing, by: string): Promise<Result<Outcome>> {
  const { executeRun } = await import("./crew/attempt/execute.ts");
  const { crewOf } = await import("./executing.ts");
  const crew = await crewOf(app, how.tell ?? (() => undefined), how.agents);
  if (!crew.ok) return crew;
  const { workers = app.config.crew.workers, signal = new AbortController().signal } = how;
  return executeRun(crew.value, run, { workers, signal, by });
}

const answer = <T>(result: Result<T>): T | Refusal =>
  result.ok ? result.value : (refusalFor(result.problem) as Refusal);
