import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { AgentCall } from "../agent-call.ts";
import { jobMark } from "../agents/agent-marks.ts";
import { configName, findWorkspace, stateFolderOf } from "../config/environment.ts";
import { fieldsOf, type JsonSchema, type OperationDescription } from "../kernel/operation-description.ts";
import { Refused, type Result, unwrap } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import { manifest } from "../operation-manifest.ts";
import { askServer, askTools, ServerStopped } from "./ask-server.ts";
import { forAgents } from "./next-step.ts";
import { complain, fail, readStdin, withApp } from "./session.ts";
import { claimSecret, runInShell, type Shell, shell, writeErr, writeOut } from "./shell.ts";
import { json } from "./text.ts";

/** The agents' command line: every operation an agent may call, by its name in kebab case, JSON in and out. */
export const runScribe = (argv: string[], own?: Shell, here: PerformHere = performHere): Promise<void> =>
  runInShell(own, () => execute(argv, here));

/** Performs a call without a server. */
export type PerformHere = (root: string, call: AgentCall) => Promise<Result<unknown>>;

async function execute(argv: string[], here: PerformHere): Promise<void> {
  const program = new Command("scribe")
    .description("The agents' side of Scriptorium: one command an operation, JSON on stdout.")
    .version(version)
    // Otherwise --version of a command would be taken for the program's own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut, writeErr })
    .showHelpAfterError("(see --help)");
  const operations = manifest.filter(({ callers }) => callers.includes("agent"));
  // scribe is started often: if the first word names a command, the others are left out.
  const asked = operations.filter((operation) => nameOf(operation) === argv[0]);
  for (const operation of asked.length > 0 ? asked : operations)
    program.addCommand(commandFor(operation, here).exitOverride().configureOutput({ writeOut, writeErr }));
  try {
    // R11 names it with one dash.
    const words = argv.map((word) => word.replace(/^-config(?==|$)/, "--config"));
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) shell().exitCode = error.exitCode === 0 ? 0 : 2;
    else fail({ json: true }, error, forAgents);
  }
}

const nameOf = ({ name }: { name: string }) => name.replaceAll("_", "-");

function commandFor(operation: OperationDescription, here: PerformHere): Command {
  const fields = fieldsOf(operation.input);
  const names = fields.map(({ name }) => name);
  const command = new Command(nameOf(operation))
    .description(names.includes(fromStdin) ? `${operation.summary} The content comes from stdin.` : operation.summary)
    .option("--role <role>", "your role in schema.yaml (default: the only one)")
    .option("--dir <folder>", "the workspace, or a folder in it")
    .option("--config <file>", "the workspace's scriptorium.yaml, instead of --dir");
  if (operation.effect !== "reads")
    command.option("--idempotency-key <key>", "repeat the call with the same key and it takes effect once (24 hours)");
  // An operation that takes one of these itself means the same by it.
  if (!names.includes("run")) command.option("--run <id>", "the run you work for");
  if (!names.includes("task")) command.option("--task <id>", "the task you work on");
  if (!names.includes("epoch")) command.option("--epoch <n>", "the epoch of your claim", Number);
  if (!names.includes("secret"))
    command.option("--secret <text>", "the secret of your claim (default: SCRIPTORIUM_CLAIM_SECRET)");
  for (const { name, schema: field, required } of fields) {
    const value = field.type === "boolean" ? "" : field.type === "array" ? " <value...>" : " <value>";
    const about = name === fromStdin ? `${field.description}; read from stdin if left out` : field.description;
    const option = new Option(`--${name.replaceAll("_", "-")}${value}`, about ?? "");
    if (required && name !== fromStdin) option.makeOptionMandatory();
    if (field.type === "integer" || field.type === "number") option.argParser(Number);
    if (field.type === "object") option.argParser(fromJson);
    if (itemType(field) === "object")
      option.argParser((text, before: unknown[] | undefined) => [...(before ?? []), fromJson(text)]);
    if (field.enum) option.choices(field.enum.map(String));
    command.addOption(option);
  }
  return command.action(() => perform(operation, names, command.opts(), here));
}

/** The body of an entry, a proposal, a perspective or a message. */
const fromStdin = "content";

const itemType = ({ items }: JsonSchema) =>
  typeof items === "object" && !Array.isArray(items) ? items.type : undefined;

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`expected JSON: ${(error as Error).message}`);
  }
}

type Given = {
  role?: string;
  run?: string;
  task?: string;
  epoch?: number;
  secret?: string;
  dir?: string;
  config?: string;
  idempotencyKey?: string;
} & Record<string, unknown>;

async function perform(
  { name: operation, effect }: OperationDescription,
  fields: string[],
  options: Given,
  here: PerformHere,
): Promise<void> {
  const given: Given = { ...claimSecret(), ...options };
  const { SCRIPTORIUM_SOCKET: tools } = shell().env;
  const ask = tools ? (call: AgentCall) => askTools(tools, call) : inWorkspace(given, effect, here);
  const input: Record<string, unknown> = {};
  for (const field of fields) {
    const value = given[field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) input[field] = value;
  }
  if (fields.includes(fromStdin)) input[fromStdin] ??= (await readStdin()).toString("utf8");
  const { role, run, task, epoch, secret, idempotencyKey } = given;
  const job = unwrap(jobMark(shell().env, await shell().ancestors()));
  const call: AgentCall = {
    operation,
    input,
    ...(role === undefined ? {} : { role }),
    ...(run === undefined ? {} : { run }),
    ...(task === undefined ? {} : { task }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(secret === undefined ? {} : { secret }),
    ...(job ? { job } : {}),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  const result = await ask(call);
  if (result.ok) writeOut(`${json(result.value)}\n`);
  else complain({ json: true }, result.problem, forAgents);
}

/** A server that dies during a call may have done it: with a key, the call can be repeated without it. */
function inWorkspace(
  { config, dir }: Given,
  effect: OperationDescription["effect"],
  here: PerformHere,
): (call: AgentCall) => Promise<Result<unknown>> {
  const root = config === undefined ? workspaceOf(dir ?? ".") : folderOf(config);
  return async (call) => {
    const repeatable = effect === "reads" ? call : { idempotencyKey: randomUUID(), ...call };
    try {
      return (await askRunningServer(root, repeatable)) ?? (await here(root, call));
    } catch (error) {
      if (error instanceof ServerStopped) return here(root, repeatable);
      throw error;
    }
  };
}

function askRunningServer(root: string, call: AgentCall): Promise<Result<unknown> | undefined> {
  const { SCRIPTORIUM_CRASH_AT: crash, SCRIPTORIUM_DATABASE_URL: databaseUrl } = shell().env;
  // A crash test is about this process.
  if (crash !== undefined) return Promise.resolve(undefined);
  return askServer({ stateFolder: stateFolderOf(root), configFile: join(root, configName), databaseUrl }, call);
}

/** Opens the store in this process; a refusal while opening it is an answer too. */
export async function performHere(root: string, call: AgentCall): Promise<Result<unknown>> {
  const { callAsAgent } = await import("../agent-call.ts");
  try {
    return await withApp({ dir: root }, (app) => callAsAgent(app, call));
  } catch (error) {
    if (error instanceof Refused) return { ok: false, problem: error.problem };
    throw error;
  }
}

const workspaceOf = (dir: string) => unwrap(findWorkspace(resolve(shell().cwd, dir)));

/** The workspace is where its configuration is; a path that names none must not lead to another workspace above it. */
function folderOf(config: string): string {
  const file = resolve(shell().cwd, config);
  if (basename(file) === configName && existsSync(file)) return dirname(file);
  throw new Refused({
    code: "invalid",
    message: `--config: ${config} is not a ${configName}; give the path of the workspace's file`,
  });
}
