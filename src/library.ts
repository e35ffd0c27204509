import { fileURLToPath } from "node:url";
import type * as z from "zod";
import { agentMark } from "./agents/agent-marks.ts";
import { ancestors } from "./agents/ancestors.ts";
import { noAgent } from "./agents/no-agent.ts";
import type { Runner, RunResult, RunSpec } from "./agents/runner.ts";
import { type Script, scriptedRunner } from "./agents/scripted.ts";
import { skillsFolder } from "./agents/skills.ts";
import { openToolSocket } from "./agents/tool-socket.ts";
import { type App, openApp } from "./app.ts";
import { loadConfig } from "./config/config.ts";
import { environment, findWorkspace } from "./config/environment.ts";
import type {
  CrewAgents,
  CrewPool,
  News,
  Outcome,
  Planned,
  Research,
  Verification,
  VerifiedTask,
} from "./crew/record/run-host.ts";
import { openQueue } from "./jobs/queue.ts";
import { type Caller, newTurn, type Person } from "./kernel/caller.ts";
import { type CamelKeys, camelKeys, fromWire, toWire } from "./kernel/camel.ts";
import { builtFile } from "./kernel/package-files.ts";
import { ok, type Problem, type Result, refusalFor, refuse, unwrap } from "./kernel/result.ts";
import { allOperations, operationNamed } from "./operation-list.ts";
import type { OperationName, Operations } from "./operation-loaders.ts";
import { personOfToken } from "./people/token-person.ts";
import type { PoolHealth, PoolMetrics } from "./tasks/job-pool.ts";
import { type Execute, type WorkerPool, workerPool } from "./tasks/pool.ts";
import type { Entry } from "./wiki/entry.ts";
import { roleName } from "./wiki/schema.ts";

/** Input and output of every operation in the library, by name: their fields in camelCase. */
export type Inputs = { [N in OperationName]: CamelKeys<z.input<Operations[N]["input"]>> };
export type Outputs = { [N in OperationName]: CamelKeys<z.output<Operations[N]["output"]>> };

export type {
  Caller,
  CrewAgents,
  CrewPool,
  Entry,
  Execute,
  News,
  OperationName,
  Outcome,
  Person,
  Planned,
  PoolHealth,
  PoolMetrics,
  Problem,
  Research,
  Result,
  Runner,
  RunResult,
  RunSpec,
  Script,
  Verification,
  VerifiedTask,
  WorkerPool,
};
export { scriptedRunner };

/** A refusal as agents get it, its fields in camelCase: `status` is denied, conflict, refused, invalid, not_found or storage. */
export type Refusal = { status: Problem["code"]; error?: string; message?: string } & Record<string, unknown>;

/** The protocol of K3 for one agent in one role; the backend behind it is configuration. */
export interface KnowledgeStore {
  listEntries(): Promise<Outputs["list_entries"]["entries"] | Refusal>;
  fetchEntry(id: string): Promise<Outputs["fetch_entry"] | Refusal>;
  commitEntry(id: string, content: string, version: number): Promise<Outputs["commit_entry"] | Refusal>;
  appendLog(id: string, line: string): Promise<Outputs["append_log"] | Refusal>;
  transferFocus(target: string, summary: string): Promise<Outputs["transfer_focus"] | Refusal>;
  /** The handoff that the previous role left for this one; null if there is none. */
  handoff(): Promise<NonNullable<Outputs["list_entries"]["handoff"]> | null | Refusal>;
}

export interface Workspace {
  root: string;
  /** Performs any operation, as the person named or as an agent. Names are camelCase, in and out. */
  call<N extends OperationName>(
    name: N,
    input: Inputs[N],
    caller?: Caller,
    how?: CallOptions,
  ): Promise<Result<Outputs[N]>>;
  /**
   * The person of a token, as the caller of decisions: approvals, tokens, people, budgets, reverts. Without it `call`
   * refuses them. The owner's token is in `.scriptorium/token`. Refused in a process of an agent.
   */
  signIn(token: string): Promise<Result<Person>>;
  /** One agent's turn after turn, with its read cap and handoffs. */
  as(role: string, run?: string): KnowledgeStore;
  /**
   * Runs jobs in this process with your own agent, such as a script in a test (`scriptedRunner`), until `stop` is
   * called. Needs an agent block in scriptorium.yaml; its programs are not started.
   */
  runJobs(runner: Runner): Promise<Result<{ stop(): Promise<void> }>>;
  /** Workers of this process for the tasks of this workspace (or of one run); `execute` does the work. */
  workers(name: string, execute: Execute, run?: string): WorkerPool;
  /** The planner makes a run of a request; its plan waits in a file until it is executed. */
  plan(request: string, how?: Carrying & { brief?: boolean }): Promise<Result<Planned>>;
  /** Workers do what is ready, verifiers judge what is done, until nothing is left. */
  execute(run: string, how?: Carrying & { workers?: number; tell?: (news: News) => void }): Promise<Result<Outcome>>;
  /** The parts of the crew one by one, for programs that combine them themselves or run them in several processes. */
  crew(how?: Carrying): Promise<Result<Crew>>;
  close(): Promise<void>;
}

/** Planner, workers and verifiers of one process. Each part does its work alone; the record connects them. */
export interface Crew {
  pm: {
    /** Studies repository, wiki and graph for a request, without planning. The findings are kept with a new run. */
    research(request: string): Promise<Result<Research>>;
    /** Plans a request, or what was researched: a run with tasks, which can be edited until it is started. */
    createTaskGraph(from: Research | string): Promise<Result<Planned>>;
    /** Starts a planned or stopped run, or one that failed: its tasks are there for pools and verifiers of any process. */
    start(run: string): Promise<Result<true>>;
  };
  /** Workers that do the ready tasks of all started runs. */
  pool: CrewPool;
  qc: {
    /**
     * Judges what workers have completed, in one run or in all: checks, then a verifier, then merge or retry. Returns
     * when nothing waits for it; with `wait`, when the run is over or the signal aborts.
     */
    verifyCompletedTasks(
      run?: string,
      how?: { verifiers?: number; wait?: boolean; signal?: AbortSignal },
    ): Promise<Result<Verification>>;
  };
}

/** With a key, a mutation that is repeated takes effect once, and the repeat gets the first answer. */
export type CallOptions = { idempotencyKey?: string };

/** The agents of the crew (from the configuration if left out), and a signal that stops them. */
type Carrying = { agents?: CrewAgents; signal?: AbortSignal };

/** Opens the workspace that holds `folder`: the same operations as every other face, typed. */
export async function openWorkspace(folder = "."): Promise<Workspace> {
  const root = unwrap(findWorkspace(folder));
  const app = await openApp(unwrap(loadConfig(root, environment())));
  const person = await app.git.person();
  const owner: Person = { kind: "person", name: person?.name ?? "owner", rank: "admin", isOwner: true };
  // A caller that a program makes itself has no proof, whatever it says.
  const proven = new WeakSet<Caller>();
  const withoutProof = (caller: Caller): Caller =>
    caller.kind === "person" ? { ...caller, proof: undefined } : caller;

  return {
    root,
    call: (name, input, caller = owner, how = {}) =>
      call(app, name, input, proven.has(caller) ? caller : withoutProof(caller), how),
    async signIn(token) {
      const mark = agentMark(environment(), await ancestors());
      if (mark)
        return refuse(
          "denied",
          `this program runs inside ${mark.agent} (${mark.because}), and decisions are made by people`,
        );
      const person = await personOfToken(app, token, owner);
      if (!person.ok) return person;
      const caller: Person = Object.freeze({ ...person.value, proof: "token" });
      proven.add(caller);
      return ok(caller);
    },
    as(role, run) {
      const caller: Caller = { kind: "agent", role: unwrap(checkedRole(role)), turn: newTurn(run, true) };
      const perform = async <N extends OperationName>(name: N, input: Inputs[N]): Promise<Outputs[N] | Refusal> => {
        return answer(await call(app, name, input, caller, {}), (value) => value);
      };
      const catalogue = () => call(app, "list_entries", { all: true }, caller, {});
      return {
        listEntries: async () => answer(await catalogue(), ({ entries }) => entries),
        fetchEntry: (id) => perform("fetch_entry", { id }),
        commitEntry: (id, content, version) => perform("commit_entry", { id, content, version }),
        appendLog: (id, line) => perform("append_log", { id, line }),
        transferFocus: (target, summary) => perform("transfer_focus", { target, summary }),
        handoff: async () => answer(await catalogue(), ({ handoff }) => handoff ?? null),
      };
    },
    async runJobs(runner) {
      const { agent } = app.config;
      if (!agent) return noAgent();
      const scribe = fileURLToPath(builtFile("scribe.js"));
      const setup = () => ok({ agent, runner, scribe, scribeFiles: [], skills: skillsFolder(), env: {} });
      return ok(await openQueue(app, { setup, operations: allOperations, serveTools: openToolSocket, adopts: true }));
    },
    workers(name, execute, run) {
      const { leaseMs } = app.config.claims;
      return workerPool({ db: app.db, tasks: app.tasks, execute, name, leaseMs, ...(run ? { run } : {}) });
    },
    async plan(request, { brief = false, ...how } = {}) {
      const started = await app.host.plan(request, { brief, by: owner.name, ...how });
      return started.ok ? started.value.ended : started;
    },
    async execute(run, { tell, agents, signal, workers } = {}) {
      const unsubscribe = app.host.onNews((news) => (news.run === run ? tell?.(news) : undefined));
      try {
        const started = await app.host.execute(run, { by: owner.name, workers, agents, signal });
        return started.ok ? await started.value.ended : started;
      } finally {
        unsubscribe();
      }
    },
    async crew(common = {}) {
      const how = { ...common, by: owner.name };
      const pool = await app.host.openPool(how);
      if (!pool.ok) return pool;
      const ended = async <T>(started: Promise<Result<{ ended: Promise<Result<T>> }>>): Promise<Result<T>> => {
        const work = await started;
        return work.ok ? work.value.ended : work;
      };
      const given = (request: string) =>
        typeof request === "string" && request.trim() !== "" ? ok(request.trim()) : refuse("invalid", emptyRequest);
      return ok({
        pm: {
          async research(text) {
            const request = given(text);
            return request.ok ? ended(app.host.research(request.value, how)) : request;
          },
          async createTaskGraph(from) {
            if (typeof from === "object") {
              const { run, findings } = from;
              // A program may have added to the findings.
              const isChanged = findings !== (await app.runs.find(run))?.brief;
              const kept = isChanged ? await app.runs.setBrief(run, findings, owner.name) : ok(true);
              return kept.ok ? ended(app.host.resumePlan(run, how)) : kept;
            }
            const request = given(from);
            return request.ok ? ended(app.host.plan(request.value, { ...how, brief: false })) : request;
          },
          start: (run) => app.host.start(run, how),
        },
        pool: pool.value,
        qc: {
          verifyCompletedTasks: (run, { signal = common.signal, ...more } = {}) =>
            app.host.verifyCompleted(run, { ...how, ...more, signal }),
        },
      });
    },
    close: () => app.close(),
  };
}

const emptyRequest = "the request is empty: expected what should be done, as text";

async function call<N extends OperationName>(
  app: App,
  name: N,
  input: Inputs[N],
  caller: Caller,
  { idempotencyKey }: CallOptions,
): Promise<Result<Outputs[N]>> {
  const operation = operationNamed(name);
  const result = await operation.perform(
    app,
    toWire(operation.input, input),
    caller,
    app.idempotency.once(idempotencyKey),
  );
  if (!result.ok) return { ok: false, problem: camelDetails(result.problem) };
  // TypeScript does not resolve a mapped type by a generic key.
  return { ok: true, value: fromWire(operation.output, result.value) as Outputs[N] };
}

/** Details hold data of users at any depth, so only their own names change. */
const camelDetails = ({ details, ...problem }: Problem): Problem =>
  details ? { ...problem, details: camelKeys(details) } : problem;

const answer = <T, U>(result: Result<T>, part: (value: T) => U): U | Refusal =>
  result.ok ? part(result.value) : refusalFor(camelDetails(result.problem));

function checkedRole(role: unknown): Result<string> {
  const read = roleName.safeParse(role);
  return read.success
    ? ok(read.data)
    : refuse("invalid", `role: ${JSON.stringify(role)} is not a role name, such as engineer`);
}
