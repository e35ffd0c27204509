import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import type { Removal, Removed } from "../setup/remove.ts";
import { isInteractive, openPrompts } from "./prompts.ts";
import { type Common, print } from "./session.ts";
import { shell, writeOut } from "./shell.ts";
import { dim, red } from "./text.ts";

const help = `
Removes scriptorium.yaml, the wiki pages of the schema, .scriptorium/ with the database, files of runs,
the entries in client configurations, the blocks in AGENTS.md and CLAUDE.md, the lines in .gitignore,
refs/scriptorium/* and the branches of runs. Commits and files that Scriptorium did not create stay.
The removal of committed files is one commit of its own.

Examples:
  scriptorium remove --dry-run      list what would be removed
  scriptorium remove                list it, ask, remove
  scriptorium remove --keep-wiki    keep the pages as plain markdown
  scriptorium remove --yes          without a question, for scripts`;

export const removeCommand = (common: () => Common) =>
  new Command("remove")
    .description("take Scriptorium out of this repository: files, client entries, refs and branches")
    .option("--dry-run", "list what would be removed and change nothing")
    .option("--keep-wiki", "keep the wiki pages and their schema")
    .option("--no-commit", "leave the removal uncommitted")
    .option("--force", "remove although uncommitted or unmerged work is lost")
    .option("--yes", "remove without asking")
    .addHelpText("after", help)
    .action(async (options) =>
      print(common(), await remove(common(), options), { text: resultText, json: resultJson }),
    );

type Options = { dryRun?: true; keepWiki?: true; commit: boolean; force?: true; yes?: true };
type Outcome = { removal: Removal; removed: Removed | undefined };

async function remove(common: Common, options: Options): Promise<Result<Outcome>> {
  const { env, cwd } = shell();
  const { planRemoval, removeAll } = await import("../setup/remove.ts");
  const config = unwrap(loadConfig(unwrap(findWorkspace(resolve(cwd, common.dir ?? "."))), env));
  const removal = await planRemoval(config, env, { keepWiki: options.keepWiki ?? false });
  if (!removal.ok) return removal;
  if (options.dryRun) return ok({ removal: removal.value, removed: undefined });
  const { losses } = removal.value;
  if (losses.length > 0 && !options.force) {
    return refuse("refused", `nothing was removed: ${losses.join("; ")}. Commit or merge it, or pass --force`);
  }
  if (!options.yes) {
    if (common.json || !isInteractive(shell())) {
      return refuse("refused", "nothing was removed; pass --yes to remove, or --dry-run to list what would be removed");
    }
    writeOut(`${planText(removal.value)}\n\n`);
    const typed = await (await openPrompts()).text("Type remove to confirm", "");
    if (typed.trim() !== "remove") return refuse("refused", "nothing was removed");
  }
  return ok({ removal: removal.value, removed: await removeAll(config, env, removal.value, options.commit) });
}

function planText(removal: Removal): string {
  const { deleted, changed, refs, branches } = linesOf(removal);
  return [
    ...deleted.map((path) => `${red("-")} ${path}`),
    ...changed.map((path) => `${red("~")} ${path} (our entry or block)`),
    ...[...refs, ...branches.map((name) => `branch ${name}`)].map((ref) => `${red("-")} ${ref}`),
    ...removal.losses.map((loss) => red(`lost: ${loss}`)),
    ...removal.left.map((path) => dim(`stays: ${path}`)),
  ].join("\n");
}

function resultText({ removal, removed }: Outcome): string {
  if (!removed) return `${planText(removal)}\n\nNothing was changed (--dry-run).`;
  const { commit, uncommitted, reason } = removed;
  return [
    planText({ ...removal, losses: [] }),
    "",
    commit ? `Removed. The deletions are committed (${commit.slice(0, 7)}: Remove Scriptorium).` : "Removed.",
    ...(reason ? [`The deletions are not committed (${reason}): ${uncommitted.join(" ")}`] : []),
    ...(!reason && uncommitted.length > 0
      ? [`Not committed, because of changes of yours: ${uncommitted.join(" ")}`]
      : []),
  ].join("\n");
}

const resultJson = ({ removal, removed }: Outcome) => ({
  dry_run: removed === undefined,
  ...linesOf(removal),
  losses: removal.losses,
  left: removal.left,
  commit: removed?.commit ?? null,
  uncommitted: removed?.uncommitted ?? [],
});

/** What is removed, one line each. */
const linesOf = ({ changes, own, stateFolder, refs }: Removal) => ({
  deleted: [
    ...changes.filter(({ after }) => after === undefined).map(({ shown }) => shown),
    ...own.files,
    ...own.folders.map((path) => `${path}/`),
    ...(stateFolder ? [".scriptorium/"] : []),
  ],
  changed: changes.filter(({ after }) => after !== undefined).map(({ shown }) => shown),
  refs: refs?.refs ?? [],
  branches: refs?.branches.map((ref) => ref.replace(/^refs\/heads\//, "")) ?? [],
});
