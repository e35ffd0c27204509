import { ok, type Result } from "../kernel/result.ts";
import { diffOf } from "../setup/change.ts";
import { clients as knownClients } from "../setup/clients/clients.ts";
import type { FoundClient } from "../setup/clients/detect.ts";
import type { Surroundings } from "../setup/surroundings.ts";
import { defaultTemplate, listTemplates } from "../wiki/init.ts";
import { type FullPlan, type InitOptions, namesIn, type Wishes } from "./init-plan.ts";
import { openPrompts } from "./prompts.ts";
import { writeOut } from "./shell.ts";
import { colouredDiff, plural } from "./text.ts";

/** Asks what no flag has answered. */
export async function askWishes(root: string, around: Surroundings, options: InitOptions): Promise<Result<Wishes>> {
  const ask = await openPrompts();
  ask.intro(`Set up Scriptorium in ${root}`);
  ask.note(foundText(around), "Found");
  const template =
    options.template ??
    (await ask.select(
      "Template",
      listTemplates().map(({ name, about }) => ({ value: name, label: name, hint: about })),
      defaultTemplate,
    ));
  const connect = options.connect === undefined ? await askClients(around.clients) : namesIn(options.connect);
  const bookBranch = options.bookBranch ?? (await askBranch(around));
  const commit = options.commit && (around.repository === undefined || (await ask.confirm(commitQuestion(around))));
  return ok({
    template,
    connect,
    role: options.role,
    bookBranch,
    commit,
    instructions: options.instructions,
    skills: options.skills ?? false,
  });

  async function askClients(found: FoundClient[]): Promise<string[]> {
    const installed = found.filter(({ program }) => program !== undefined).map(({ client }) => client.name);
    const choices = knownClients.map(({ name, title }) => ({
      value: name,
      label: title,
      ...(installed.includes(name) ? { hint: "installed" } : {}),
    }));
    return ask.multiselect("Clients to connect", choices, installed);
  }

  async function askBranch({ repository }: Surroundings): Promise<string | undefined> {
    if (!repository?.branch) return undefined;
    const own = await ask.select<"current" | "own">("Agents' writes become git commits. On which branch?", [
      {
        value: "current",
        label: `the current branch (${repository.branch})`,
        hint: "git log shows them with your work",
      },
      { value: "own", label: "a branch of their own", hint: "your branch is not touched" },
    ]);
    return own === "own" ? ask.text("Name of the branch", "scriptorium-wiki") : undefined;
  }
}

const commitQuestion = ({ repository }: Surroundings) =>
  `Commit the new files on ${repository?.branch ?? "the current branch"}? Only these; nothing else that you have changed or staged.`;

function foundText({ repository, clients, sandbox }: Surroundings): string {
  const git = repository
    ? `git repository on ${repository.branch ?? "a detached HEAD"}, ${repository.changes === 0 ? "clean" : plural(repository.changes, "uncommitted change")}${repository.busy ? `, ${repository.busy} in progress` : ""}`
    : "no git repository: one is created";
  const installed = clients.filter(({ program }) => program !== undefined);
  const lines = installed.map(
    ({ client, version, login }) =>
      `${client.title}${version ? ` ${version}` : ""}${login === undefined ? "" : login ? ", logged in or with a key" : ", no login or key found"}`,
  );
  return [
    git,
    ...(lines.length > 0 ? lines : ["no agent client on PATH"]),
    sandbox
      ? "sandbox: available, for agents of runs and jobs"
      : "no sandbox: needed only for runs and jobs (see scriptorium doctor)",
  ].join("\n");
}

/** Shows everything that will be written, and asks. */
export async function confirmPlan(plan: FullPlan, wishes: Wishes, around: Surroundings): Promise<boolean> {
  const ask = await openPrompts();
  const isNew = (before: string | undefined) => before === undefined;
  const added = plan.changes.filter(({ before }) => isNew(before));
  const changed = plan.changes.filter(({ before }) => !isNew(before));
  ask.note(added.map(({ shown }) => `+ ${shown}`).join("\n") || "nothing: the workspace exists", "New files");
  const entries = new Set(plan.clients?.entries.map(({ change }) => change.shown));
  const shownInFull = [
    ...changed,
    ...added.filter(({ shown }) => entries.has(shown) || shown.endsWith("S.md") || shown === "CLAUDE.md"),
  ];
  for (const change of shownInFull) writeOut(`${colouredDiff(diffOf(change))}\n\n`);
  ask.note(consequences(plan, wishes, around), "What happens then");
  return ask.confirm("Write this?");
}

function consequences({ commit, clients }: FullPlan, { bookBranch }: Wishes, { repository }: Surroundings): string {
  const branch = repository ? (repository.branch ?? "HEAD") : "main";
  const willCommit = commit || repository === undefined;
  return [
    willCommit ? `The new files are committed on ${branch}.` : "Nothing is committed; you commit the files yourself.",
    bookBranch
      ? `Agents' writes become commits on ${bookBranch}; ${branch} is not touched.`
      : `Agents' writes become commits on the branch that is checked out, now ${branch}.`,
    "Your own edits of wiki pages stay yours to commit.",
    ...(clients ? [`The server is started once to test the connection: ${clients.why}.`] : []),
    "scriptorium remove takes everything out again.",
  ].join("\n");
}
