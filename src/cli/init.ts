import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { ok, Refused, type Result, refuse } from "../kernel/result.ts";
import { ownerToken } from "../people/token-person.ts";
import type { Surroundings } from "../setup/surroundings.ts";
import { ownBookBranch } from "../store/git/book-branch.ts";
import { defaultTemplate, listTemplates } from "../wiki/init.ts";
import { prove } from "./connect.ts";
import { askWishes, confirmPlan } from "./init-dialogue.ts";
import { type FullPlan, type InitOptions, namesIn, planInit, type Wishes } from "./init-plan.ts";
import { type InitResult, resultJson, resultText } from "./init-result.ts";
import { machineTrouble } from "./machine-trouble.ts";
import { isInteractive } from "./prompts.ts";
import { type Common, print, withApp } from "./session.ts";
import { shell } from "./shell.ts";

const help = () => `
Templates:
${listTemplates()
  .map(({ name, about }) => `  ${name.padEnd(10)} ${about}`)
  .join("\n")}

Examples:
  scriptorium init                                    ask, show every change, then write
  scriptorium init --yes                              take the proposals: connect the clients found, commit
  scriptorium init handbook --template research       in another folder
  scriptorium init --connect claude,codex --yes       connect exactly these clients
  scriptorium init --book-branch wiki --yes           agents' commits go to the branch wiki

Without a terminal and without --yes, init writes the workspace only and commits nothing in an
existing repository. scriptorium remove takes everything out again.`;

export const initCommand = (common: () => Common) =>
  new Command("init")
    .description("set up a workspace in a folder; existing files are never overwritten")
    .argument("[folder]", "the folder", ".")
    .option("--template <name>", `sections to start with (default: ${defaultTemplate})`)
    .option("--connect <clients>", "clients to connect, separated by commas, or none")
    .option("--role <role>", "the role of the connected clients, in a template with several")
    .option("--book-branch <name>", "the branch for agents' commits (default: the current branch)")
    .option("--no-commit", "leave the new files uncommitted")
    .option("--no-instructions", "do not touch AGENTS.md and CLAUDE.md")
    .option("--skills", "also install the agent's skills into .claude/skills/")
    .option("--nested", "allow a workspace inside another workspace")
    .option("--yes", "take the proposals without asking")
    .addHelpText("after", help)
    .action(async (folder, options) => {
      const root = resolve(shell().cwd, common().dir ?? ".", folder);
      print(common(), await init(root, { ...options, json: common().json ?? false }), {
        text: resultText,
        json: resultJson,
      });
    });

async function init(root: string, options: InitOptions): Promise<Result<InitResult>> {
  const { lookAround } = await import("../setup/surroundings.ts");
  const around = await lookAround(root, shell().env);
  if (!around.ok) return around;
  const asks = !options.yes && !options.json && isInteractive(shell());
  const nested = await allowNested(around.value, options, asks);
  if (!nested.ok) return nested;

  const wishes = asks ? await askWishes(root, around.value, options) : proposals(around.value, options);
  if (!wishes.ok) return wishes;
  const plan = await planInit(root, wishes.value, shell().env);
  if (!plan.ok) return plan;
  if (asks && !(await confirmPlan(plan.value, wishes.value, around.value))) {
    return refuse("refused", "nothing was written");
  }
  return ok({ ...plan.value, wishes: wishes.value, ...(await makeIt(plan.value)) });
}

/** A workspace in a workspace has a wiki of its own, which is rarely meant: commands below it use the inner one. */
async function allowNested({ nestedIn }: Surroundings, { nested }: InitOptions, asks: boolean): Promise<Result<true>> {
  if (nestedIn === undefined || nested) return ok(true);
  const message = `this folder is inside the workspace ${nestedIn}`;
  if (!asks) return refuse("refused", `${message}; work there, or pass --nested for a workspace of its own`);
  const { openPrompts } = await import("./prompts.ts");
  const yes = await (await openPrompts()).confirm(
    `This folder is inside the workspace ${nestedIn}. Create a second one?`,
    false,
  );
  return yes ? ok(true) : refuse("refused", "nothing was written");
}

/** Without a terminal: flags only, and with --yes what the dialogue would propose. */
function proposals({ clients }: Surroundings, options: InitOptions): Result<Wishes> {
  const installed = clients.filter(({ program }) => program !== undefined).map(({ client }) => client.name);
  const isYes = options.yes ?? false;
  const connect = options.connect === undefined ? (isYes ? installed : []) : namesIn(options.connect);
  return ok({
    template: options.template ?? defaultTemplate,
    connect,
    role: options.role,
    bookBranch: options.bookBranch,
    commit: options.commit && isYes,
    instructions: options.instructions && isYes,
    skills: options.skills ?? false,
  });
}

/** Makes the workspace, and proves the connection if clients were connected. A signal takes everything back. */
async function makeIt(plan: FullPlan): Promise<Pick<InitResult, "done" | "bookBranch" | "proof">> {
  const { makeWorkspace } = await import("../setup/init.ts");
  const stop = new AbortController();
  const abort = () => stop.abort();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, abort);
  let bookBranch: string | undefined;
  try {
    const done = await makeWorkspace(
      plan,
      shell().env,
      () =>
        withApp(
          { dir: plan.root },
          async (app) => {
            // Listing indexes the new files as version 1.
            await app.entries.list();
            ownerToken(app.config.stateFolder);
            bookBranch = app.config.bookBranch && (await ownBookBranch(app.git, app.config.bookBranch));
          },
          { waits: false },
        ),
      stop.signal,
    );
    const proof = plan.clients && (await prove(plan.clients, plan));
    if (proof && !proof.ok) shell().exitCode = 1;
    return { done, bookBranch, proof };
  } catch (error) {
    if (error instanceof Refused && error.problem.code !== "storage") throw error;
    const reason = machineTrouble(error) ?? (error as Error).message;
    throw new Refused({ code: "refused", message: `init failed and left nothing behind: ${reason}` });
  } finally {
    for (const signal of signals) process.off(signal, abort);
  }
}
