import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { App } from "../app.ts";
import { configName } from "../config/config.ts";
import { jobOperations, jobTools } from "../jobs/tools.ts";
import { type Caller, newTurn } from "../kernel/caller.ts";
import { fieldsOf, type JsonSchema, type Operation } from "../kernel/operation.ts";
import { Refused, type Result, refuse, unwrap } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import { allOperations } from "../operation-list.ts";
import { chooseRole } from "../wiki/role.ts";
import { forAgents } from "./next-step.ts";
import { complain, fail, readStdin, withApp } from "./session.ts";
import { runInShell, type Shell, shell, shellOutput } from "./shell.ts";
import { json } from "./text.ts";

/** The agents' command line: every operation an agent may call, by its name in kebab case, JSON in and out. */
export const runScribe = (argv: string[], own?: Shell): Promise<void> => runInShell(own, () => execute(argv));

async function execute(argv: string[]): Promise<void> {
  const program = new Command("scribe")
    .description("The agents' side of Scriptorium: one command an operation, JSON on stdout.")
    .version(version)
    // Otherwise --version of a command would be taken for the program's own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput(shellOutput)
    .showHelpAfterError("(see --help)");
  // Only the command that was asked for works out its options: scribe is started often.
  for (const operation of allOperations.filter((op) => op.callers.includes("agent"))) {
    const asked = argv.includes(nameOf(operation));
    program.addCommand(
      (asked ? commandFor(operation) : bareCommand(operation)).exitOverride().configureOutput(shellOutput),
    );
  }
  try {
    // R11 names it with one dash.
    const words = argv.map((word) => word.replace(/^-config(?==|$)/, "--config"));
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) shell().exitCode = error.exitCode === 0 ? 0 : 2;
    else fail({ json: true }, error, forAgents);
  }
}

const nameOf = (operation: Operation<App>) => operation.name.replaceAll("_", "-");

const bareCommand = (operation: Operation<App>) => new Command(nameOf(operation)).description(operation.summary);

function commandFor(operation: Operation<App>): Command {
  const fields = fieldsOf(operation);
  const names = fields.map(({ name }) => name);
  const command = bareCommand(operation)
    .description(names.includes(fromStdin) ? `${operation.summary} The content comes from stdin.` : operation.summary)
    .option("--role <role>", "your role in schema.yaml (default: the only one)")
    .option("--dir <folder>", "the workspace, or a folder in it")
    .option("--config <file>", "the workspace's scriptorium.yaml, instead of --dir");
  // An operation that takes one of these itself means the same by it.
  if (!names.includes("run")) command.option("--run <id>", "the run you work for");
  if (!names.includes("task")) command.option("--task <id>", "the task you work on");
  if (!names.includes("epoch")) command.option("--epoch <n>", "the epoch of your claim", Number);
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
  return command.action(() => perform(operation, names, command.opts()));
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

type Given = { role?: string; run?: string; task?: string; epoch?: number; dir?: string; config?: string } & Record<
  string,
  unknown
>;

async function perform(operation: Operation<App>, fields: string[], given: Given): Promise<void> {
  const dir = given.config === undefined ? given.dir : folderOf(given.config);
  const input: Record<string, unknown> = {};
  for (const field of fields) {
    const value = given[field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) input[field] = value;
  }
  if (fields.includes(fromStdin)) input[fromStdin] ??= (await readStdin()).toString("utf8");
  await withApp(dir ? { dir } : {}, async (app) => {
    const result = await callAs(app, operation, input, given);
    if (result.ok) shell().stdout.write(`${json(result.value)}\n`);
    else complain({ json: true }, result.problem, forAgents);
  });
}

/** The workspace is where its configuration is; a path that names none must not lead to another workspace above it. */
function folderOf(config: string): string {
  const file = resolve(shell().cwd, config);
  if (basename(file) === configName && existsSync(file)) return dirname(file);
  throw new Refused({
    code: "invalid",
    message: `--config: ${config} is not a ${configName}; give the path of the workspace's file`,
  });
}

/** Bound to its job where there is one (R11); else in a role of the schema. */
async function callAs(app: App, operation: Operation<App>, input: object, given: Given): Promise<Result<unknown>> {
  const jobId = app.config.environment.SCRIPTORIUM_JOB;
  if (jobId) {
    const job = await app.jobs.find(jobId);
    if (!job) return refuse("denied", `no job ${jobId} in this workspace; SCRIPTORIUM_JOB is set to it`);
    return jobTools(app, job, allOperations).call(operation.name, input);
  }
  const { task, epoch } = given;
  const role = chooseRole(unwrap(await app.schema()), given.role, `${app.config.wiki}/schema.yaml`);
  // The job decides what these may do, so they need no role.
  const isOpenToAll = given.role === undefined && jobOperations.has(operation.name);
  if (!role.ok && !isOpenToAll) return role;
  const caller: Caller = {
    kind: "agent",
    role: role.ok ? role.value : "agent",
    turn: newTurn(given.run),
    ...(task ? { task } : {}),
    ...(epoch === undefined ? {} : { epoch }),
  };
  return operation.perform(app, input, caller);
}
