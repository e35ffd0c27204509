import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import type * as z from "zod";
import { jobMark } from "../agents/agent-marks.ts";
import type { App } from "../app.ts";
import { findWorkspace } from "../config/environment.ts";
import type { Person } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import { type Problem, problemText, Refused, type Result, refusalFor, unwrap } from "../kernel/result.ts";
import { storageProblem } from "../kernel/storage-problem.ts";
import { crashAt } from "../store/disk/crash.ts";
import type { Confirmation } from "./decide.ts";
import { machineTrouble } from "./machine-trouble.ts";
import { forPeople } from "./next-step.ts";
import { shell, warn, writeErr, writeOut } from "./shell.ts";
import { inert, inertly, json } from "./text.ts";

/** Options that every command has. */
export type Common = { dir?: string; json?: boolean; token?: string; idempotencyKey?: string };

type Opening = {
  root?: string | undefined;
  database?: string | undefined;
  /** False to fail at once if the database cannot be reached. */
  waits?: boolean;
};

/** Opens the workspace around `dir`, does the work, and leaves nothing behind. */
export async function withApp<T>(
  common: Common,
  work: (app: App) => Promise<T>,
  { root: known, database, waits = true }: Opening = {},
): Promise<T> {
  const { env: own, cwd } = shell();
  crashAt(own.SCRIPTORIUM_CRASH_AT);
  const env = database === undefined ? own : { ...own, SCRIPTORIUM_DATABASE_URL: database };
  const root = known ?? unwrap(findWorkspace(resolve(cwd, common.dir ?? ".")));
  // Loaded when they are needed: usage errors and scribe with a server do without.
  const [{ openApp }, { loadConfig }] = await Promise.all([import("../app.ts"), import("../config/config.ts")]);
  const config = unwrap(loadConfig(root, env));
  if (!waits && config.database.engine === "postgres")
    config.database.limits = { ...config.database.limits, startMs: 0 };
  const app = await openApp(config, { tellProgress: tellWaiting });
  try {
    return await work(app);
  } finally {
    const warning = app.schemaWarning();
    if (warning) warn(warning);
    await app.close();
  }
}

/** Says on stderr what a command waits for. */
export const tellWaiting = (line: string): void => void writeErr(`scriptorium: ${line}\n`);

export const tokenOf = ({ token }: Common) => token || shell().env.SCRIPTORIUM_TOKEN;

/**
 * The person who runs this command: of the token they gave, else as git knows them. They own the folder, so they may
 * do everything, except decide (`perform` asks for proof). An agent of a job is not that person.
 */
export async function localPerson(app: App, common: Common): Promise<Person> {
  const job = unwrap(jobMark(shell().env, await shell().ancestors()));
  if (job !== undefined && (await app.jobs.find(job)))
    throw new Refused({ code: "denied", message: `this command runs inside job ${job}; agents of jobs use scribe` });
  const owner = await gitPerson(app);
  const token = tokenOf(common);
  if (!token) return owner;
  const { personOfToken } = await import("../people/token-person.ts");
  const found = await personOfToken(app, token, owner);
  if (found.ok) return found.value;
  const source = common.token ? "--token" : "SCRIPTORIUM_TOKEN";
  throw new Refused({ ...found.problem, message: `${source}: ${found.problem.message}` });
}

/** The person whose git configuration this is. */
export async function gitPerson(app: Pick<App, "git">): Promise<Person> {
  const known = await app.git.person();
  const name = known?.name ?? userInfo().username;
  return { kind: "person", name, rank: "admin", isOwner: true, ...(known?.email ? { email: known.email } : {}) };
}

/** Performs an operation as the local person, who confirms it if it is a decision. */
export async function perform<I extends z.ZodType, O extends z.ZodType>(
  app: App,
  common: Common,
  operation: Operation<App, I, O>,
  input: Typed<z.input<I>>,
  confirmation?: Confirmation,
): Promise<Result<z.output<O>>> {
  const person = await localPerson(app, common);
  const once = app.idempotency.once(common.idempotencyKey);
  if (!(await operation.isDecision(app, input))) return operation.perform(app, input, person, once);
  const { decide } = await import("./decide.ts");
  const decision = { operation, input, person, hasToken: Boolean(tokenOf(common)) };
  const decided = await decide(app, decision, confirmation);
  return decided.ok ? operation.perform(app, decided.value.input, decided.value.caller, once) : decided;
}

/** Input as typed at a shell: the operation checks choices and says which required option is missing. */
type Typed<T> = { [K in keyof T]: T[K] extends string | undefined ? string | undefined : T[K] | undefined };

/** Performs an operation as the local person and shows its answer. */
export async function report<I extends z.ZodType, O extends z.ZodType>(
  common: Common,
  operation: Operation<App, I, O>,
  input: Typed<z.input<I>>,
  show: Show<z.output<O>>,
  confirmation?: Confirmation,
): Promise<void> {
  await withApp(common, async (app) => print(common, await perform(app, common, operation, input, confirmation), show));
}

/** Text for people, or that and what scripts get with --json if it is not the whole value. */
type Show<T> = ((value: T) => string) | { text: (value: T) => string; json: (value: T) => unknown };

/** Values on stdout, problems on stderr; with --json stdout always has exactly one JSON value. */
export function print<T>(common: Common, result: Result<T>, show: Show<T>): void {
  if (!result.ok) return complain(common, result.problem);
  const { text: forPeople, json: forScripts } =
    typeof show === "function" ? { text: show, json: (value: T) => value } : show;
  const text = common.json ? json(forScripts(result.value)) : forPeople(inertly(result.value));
  writeOut(text === "" || text.endsWith("\n") ? text : `${text}\n`);
}

export function complain(common: Common, problem: Problem, { program, wording } = forPeople): void {
  if (common.json) writeOut(`${json(refusalFor(problem, wording))}\n`);
  writeErr(`${program}: ${inert(problemText(problem, wording))}\n`);
  shell().exitCode = 1;
}

/** The outermost edge: a refusal is a sentence; anything else is our fault or the machine's, and says so. */
export function fail(common: Common, error: unknown, face = forPeople): void {
  if (error instanceof Refused) return complain(common, error.problem, face);
  if ((error as NodeJS.ErrnoException).code === "EPIPE") return;
  const storage = storageProblem(error);
  if (storage) return complain(common, storage, face);
  const known = machineTrouble(error);
  const message = known ?? `unexpected error: ${error instanceof Error ? error.message : String(error)}`;
  const isStorage = (error as { code?: unknown }).code === "SQLITE_CANTOPEN";
  const status = isStorage ? { status: "storage", reason: "read_only" } : { status: "failed" };
  if (common.json) writeOut(`${json({ ...status, error: message })}\n`);
  writeErr(`${face.program}: ${inert(message)}\n`);
  if (shell().env.SCRIPTORIUM_DEBUG && error instanceof Error) writeErr(`${error.stack}\n`);
  else if (!known) writeErr("scriptorium: set SCRIPTORIUM_DEBUG=1 for a stack trace\n");
  shell().exitCode = 1;
}

/** A file that a person named on the command line; "-" is stdin. */
export async function readInput(file: string): Promise<Buffer> {
  if (file === "-") return readStdin();
  return readFile(resolve(shell().cwd, file)).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? `file ${file} does not exist` : `cannot read ${file}: ${error.message}`;
    throw new Refused({ code: "invalid", message: why });
  });
}

export async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of shell().stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
