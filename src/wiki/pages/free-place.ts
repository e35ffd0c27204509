import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { foldedName, twinOf } from "../twins.ts";
import type { WikiApp } from "../wiki-app.ts";
import { pagePath } from "./pages.ts";

/** Folders that runs write, whose files are records. */
const recordFolders = ["runs", "generated-agents"];

/** Why a path is not free: `reason` tells the faces what to offer. */
export type PlaceProblem = "name" | "section" | "entry" | "exists" | "ignored" | "folder";

/** Whether a page that is not an entry can be made at this path (R19). `from` is the path of a page that moves there. */
export async function freePlace(app: WikiApp, raw: string, from?: string): Promise<Result<string>> {
  const checked = pagePath(raw);
  if (!checked.ok) return refuse("invalid", checked.problem.message, { reason: "name" });
  const path = checked.value;
  const { root, wiki, sources } = app.config;
  const no = (reason: PlaceProblem, message: string) =>
    refuse(reason === "exists" ? "conflict" : "refused", message, { reason });

  const top = path.split("/")[0] ?? "";
  if (path.startsWith(`${sources}/`)) return no("folder", `${path} would be a source; add it as one`);
  if (path.includes("/") && recordFolders.includes(top))
    return no("folder", `${top}/ has the records of runs; choose another folder`);
  if (path.split("/").includes("node_modules")) return no("folder", "node_modules has installed packages; choose another folder");
  if (path.startsWith(`${wiki}/`)) return inWiki(app, path);
  if (from !== undefined && path !== from && foldedName(path) === foldedName(from))
    return no("name", `${from} and ${path} differ only in case, which some file systems ignore; choose another name`);
  const folders = path.split("/").slice(0, -1);
  for (const folder of folders.map((_, at) => folders.slice(0, at + 1).join("/"))) {
    const found = lstatSync(join(root, folder), { throwIfNoEntry: false });
    if (found && !found.isDirectory()) return no("folder", `${folder} is not a folder`);
    if (existsSync(join(root, folder, ".git"))) return no("folder", `${folder}/ is a repository of its own`);
  }
  if (lstatSync(join(root, path), { throwIfNoEntry: false })) return no("exists", `${path} already exists`);
  const twin = twinOf(root, path);
  if (twin)
    return no("exists", `${twin} already exists, and is the same as ${path} on systems that ignore case; use its name`);
  if (await app.git.isIgnored(path)) return no("ignored", `git ignores ${path}; choose another place or change .gitignore`);
  return ok(path);
}

/** Below the wiki's folder there are entries, and an entry needs a section. */
async function inWiki(app: WikiApp, path: string): Promise<Result<string>> {
  const { wiki } = app.config;
  if (await app.pages.entryId(path)) return refuse("conflict", `${path} is an entry; edit it`, { reason: "entry" });
  const id = path.slice(wiki.length + 1).replace(/\.(md|markdown)$/, "");
  return refuse("refused", `pages in ${wiki}/ are entries, which need a section: propose section ${id}`, {
    reason: "section",
    section: id,
    next: [{ operation: "create_section", input: { id }, to: "propose the section" }],
  });
}
