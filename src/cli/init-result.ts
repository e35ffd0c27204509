import type { Result } from "../kernel/result.ts";
import type { Proof } from "../setup/clients/round-trip.ts";
import type { Done } from "../setup/init.ts";
import { ignoredPaths, unsigned } from "../wiki/init.ts";
import { proofText } from "./connect.ts";
import type { FullPlan, Wishes } from "./init-plan.ts";
import { dim, green, plural, yellow } from "./text.ts";

/** What `init` did. `proof` is undefined when no client was connected. */
export type InitResult = FullPlan & {
  wishes: Wishes;
  done: Done;
  /** The branch of the wiki, which differs from the wish where another worktree uses that one. */
  bookBranch: string | undefined;
  proof: Result<Proof> | undefined;
};

export function resultText({ root, changes, kept, clients, wishes, done, bookBranch, proof }: InitResult): string {
  const created = changes.filter(({ before }) => before === undefined);
  const changed = changes.filter(({ before }) => before !== undefined);
  const { committed, uncommitted, branch } = done;
  const connected = clients?.entries ?? [];
  const role = connected[0] && roleIn(connected[0].server.args);
  return [
    `${done.repository === "new" ? "New git repository and workspace" : "Workspace"} in ${root}${created.some(({ shown }) => shown.endsWith("/schema.yaml")) ? ` (template ${wishes.template})` : ""}`,
    ...created.map(({ shown }) => `  ${green("+")} ${shown}`),
    ...changed.map(({ shown }) => `  ${yellow("~")} ${shown}`),
    ...(kept.length > 0 ? [dim(`  ${plural(kept.length, "file")} existed and stayed as they were`)] : []),
    ...(changes.some(({ shown }) => shown === ".gitignore")
      ? [dim(`  .gitignore: ${ignoredPaths.join(", ")} (database, files of runs)`)]
      : []),
    "",
    ...(committed
      ? [`Committed ${plural(committed.files.length, "file")} on ${branch} (${committed.commit.slice(0, 7)}).`]
      : []),
    ...uncommittedText(uncommitted, committed !== undefined),
    ...(wishes.bookBranch && bookBranch !== wishes.bookBranch
      ? [`Another worktree of the repository uses ${wishes.bookBranch}; this one gets ${bookBranch}.`]
      : []),
    bookBranch
      ? `Agents' writes become commits on ${bookBranch}; ${branch ?? "your branch"} is not touched.`
      : `Agents' writes become commits on the branch that is checked out${branch ? `, now ${branch}` : ""}. --book-branch gives them one of their own.`,
    ...(done.signs ? [`commit.gpgsign is on; ${unsigned}.`] : []),
    ...(proof ? [proofText(proof)] : []),
    ...(role ? [`Connected in the role ${role}; scriptorium connect <client> --role <role> changes it.`] : []),
    ...connected.map(({ client }) => client.first),
    "",
    "Next:",
    ...(connected.length === 0
      ? ["  scriptorium connect                   connect Claude Code, Codex, Cursor and others"]
      : []),
    "  scriptorium serve                     read, discuss and approve in a browser",
    "  scriptorium remove                    take everything out again",
  ].join("\n");
}

const roleIn = (args: readonly string[]) => (args.includes("--role") ? args[args.indexOf("--role") + 1] : undefined);

function uncommittedText(files: InitResult["done"]["uncommitted"], someCommitted: boolean): string[] {
  if (files.length === 0) return [];
  const [first] = files;
  if (someCommitted) return files.map(({ file, reason }) => `Not committed: ${file} (${reason}).`);
  return [
    `Nothing was committed: ${first?.reason}. To commit:`,
    `  git add ${files.map(({ file }) => file).join(" ")}`,
    '  git commit -m "Add Scriptorium"',
  ];
}

export const resultJson = ({ root, changes, kept, clients, wishes, done, bookBranch, proof }: InitResult) => ({
  root,
  template: wishes.template,
  repository: done.repository,
  branch: done.branch ?? null,
  book_branch: bookBranch ?? null,
  created: changes.filter(({ before }) => before === undefined).map(({ shown }) => shown),
  changed: changes.filter(({ before }) => before !== undefined).map(({ shown }) => shown),
  kept,
  committed: done.committed ?? null,
  uncommitted: done.uncommitted,
  clients: clients?.entries.map(({ client, change }) => ({ client: client.name, file: change.shown })) ?? [],
  ...(proof ? { proof: proof.ok ? { ok: true, ...proof.value } : { ok: false, error: proof.problem.message } } : {}),
});
