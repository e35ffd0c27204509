import { openApp } from "./app.ts";
import { environment, findWorkspace, loadConfig } from "./config.ts";
import type { Operation } from "./operation.ts";
import { type OperationName, type Operations, operations } from "./operations.ts";
import { type Caller, newTurn } from "./people/caller.ts";
import { type Problem, type Result, refusalFor, unwrap } from "./result.ts";
import { type Execute, type WorkerPool, workerPool } from "./tasks/pool.ts";
import type { Entry } from "./wiki/entry.ts";
import type { Catalogue, Transfer } from "./wiki/knowledge.ts";

type Input<N extends OperationName> = Operations[N] extends Operation<infer I, unknown> ? I : never;
type Output<N extends OperationName> = Extract<Awaited<ReturnType<Operations[N]["perform"]>>, { ok: true }>["value"];

export type { Caller, Entry, Execute, OperationName, Problem, Result, WorkerPool };

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
  call<N extends OperationName>(name: N, input: Partial<Input<N>>, caller?: Caller): Promise<Result<Output<N>>>;
  /** One agent's turn after turn, with its read cap and handoffs. */
  as(role: string, run?: string): RoleStore;
  /** Workers of this process for the tasks of this workspace (or of one run); `execute` does the work. */
  workers(name: string, execute: Execute, run?: string): WorkerPool;
  close(): Promise<void>;
}

/** Opens the workspace that holds `folder`: the same operations as every other face, typed. */
export async function openWorkspace(folder = "."): Promise<Workspace> {
  const root = unwrap(findWorkspace(folder));
  const app = await openApp(unwrap(loadConfig(root, environment())));
  const person = await app.git.person();
  const owner: Caller = { kind: "person", name: person?.name ?? "owner", rank: "admin" };

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
    close: () => app.close(),
  };
}

const answer = <T>(result: Result<T>): T | Refusal =>
  result.ok ? result.value : (refusalFor(result.problem) as Refusal);
