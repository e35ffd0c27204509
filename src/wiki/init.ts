import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { branchName, loadConfig } from "../config/config.ts";
import { configName, type Environment } from "../config/environment.ts";
import { openGit } from "../config/open-git.ts";
import { suggest } from "../kernel/nearest.ts";
import { packageFile } from "../kernel/package-files.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { initRepository } from "../store/git/git.ts";
import { loadBinding } from "../store/sqlite/binding.ts";
import { writeEditorSchemas } from "./editor-schemas.ts";
import { parseSchema, type Schema, type Section } from "./schema.ts";
import { emptyDocument, withBody } from "./stores/document.ts";

const templates = packageFile("templates/");

/** The bundled templates with their descriptions, the default first. */
export function listTemplates(): { name: string; about: string }[] {
  // Beside them is requests/, the templates of requests for runs.
  const names = readdirSync(templates).filter((name) => existsSync(new URL(`${name}/schema.yaml`, templates)));
  names.sort((a, b) => Number(b === defaultTemplate) - Number(a === defaultTemplate));
  return names.map((name) => {
    const about = new URL(`${name}/about.txt`, templates);
    return { name, about: existsSync(about) ? readFileSync(about, "utf8").trim() : "" };
  });
}

export const defaultTemplate = "solo";

/** A file of a workspace. `after` is its whole text, given the text it has now, or undefined to leave it as it is. */
export type WorkspaceFile = { path: string; after(now: string | undefined): string | undefined };

/** `booked` are the paths that the branch of the wiki gets, and no other. */
export type WorkspaceFiles = { files: WorkspaceFile[]; schema: Schema; wiki: string; booked: string[] };

/** The files that make a folder a workspace. Only .gitignore is changed where it exists; no other file is (K15). */
export function workspaceFiles(
  root: string,
  template: string,
  env: Environment,
  bookBranch?: string,
): Result<WorkspaceFiles> {
  const names = listTemplates().map((known) => known.name);
  if (!names.includes(template))
    return refuse("invalid", `template ${template} does not exist; ${suggest(template, names)}`);
  if (existsSync(root) && !statSync(root).isDirectory()) return refuse("invalid", `${root} is a file; name a folder`);
  // Throws before anything is written: a workspace whose database cannot be opened is useless.
  loadBinding();
  const folders = foldersOf(root, env);
  if (!folders.ok) return folders;
  if (bookBranch !== undefined && !branchName.safeParse(bookBranch).success)
    return refuse("invalid", `${bookBranch} is not the name of a git branch; use one such as wiki`);
  if (bookBranch !== undefined && existsSync(join(root, configName))) {
    return refuse(
      "invalid",
      `${configName} exists; to set the branch, add this line to it: book_branch: ${bookBranch}`,
    );
  }
  const { wiki, sources } = folders.value;
  const file = join(root, wiki, "schema.yaml");
  const text = existsSync(file) ? readFileSync(file, "utf8") : schemaText(template, wiki);
  const schema = parseSchema(text, `${wiki}/schema.yaml`);
  if (!schema.ok) return schema;
  const files: WorkspaceFile[] = [
    created(configName, configText(root, bookBranch)),
    created(`${wiki}/schema.yaml`, text),
    ...schema.value.sections.map((section) => created(`${wiki}/${section.id}.md`, emptyEntry(section))),
    created(`${sources}/.gitkeep`, ""),
    { path: ".gitignore", after: (now) => withIgnored(now, bookBranch ? [`/${wiki}/`, `/${sources}/`] : []) },
  ];
  const booked = bookBranch ? files.map(({ path }) => path).filter((path) => isIn([wiki, sources], path)) : [];
  return ok({ files, schema: schema.value, wiki, booked });
}

/** A workspace that exists may have other folders. */
function foldersOf(root: string, env: Environment): Result<{ wiki: string; sources: string }> {
  return existsSync(join(root, configName)) ? loadConfig(root, env) : ok({ wiki: "wiki", sources: "sources" });
}

const created = (path: string, text: string): WorkspaceFile => ({
  path,
  after: (now) => (now === undefined ? text : undefined),
});

const schemaText = (template: string, wiki: string) => {
  const up = "../".repeat(wiki.split("/").length);
  const text = readFileSync(new URL(`${template}/schema.yaml`, templates), "utf8");
  return `# yaml-language-server: $schema=${up}.scriptorium/schemas/schema.json\n${text}`;
};

const configText = (root: string, bookBranch: string | undefined) =>
  `# yaml-language-server: $schema=.scriptorium/schemas/config.json
name: ${JSON.stringify(basename(root) || "workspace")}
# Where entries are stored: files (markdown in git) or database.
# store: files
# The database: sqlite (a file in .scriptorium/) or a PostgreSQL URL for a team on several machines.
# database: sqlite
${bookBranch ? `# Entries and sources are committed to this branch; your own branch gets only pages that you approve.\nbook_branch: ${JSON.stringify(bookBranch)}\n` : ""}`;

const emptyEntry = (section: Section) => withBody(emptyDocument, "", section.title).toString("utf8");

/** What Scriptorium writes beside the wiki: the database and sockets, and the files of runs. */
export const ignoredPaths = [".scriptorium/", "/runs/run-*/", "/generated-agents/"];
const ignoreComment = "# Scriptorium: database, files of runs";

const isIn = (folders: string[], path: string) => folders.some((folder) => path.startsWith(`${folder}/`));

function withIgnored(now = "", more: string[] = []): string | undefined {
  const lines = new Set(now.split(/\r?\n/).map((line) => line.trim()));
  const isThere = (path: string) => {
    const bare = path.replace(/^\/|\/$/g, "");
    return [bare, `/${bare}`, `${bare}/`, `/${bare}/`].some((spelling) => lines.has(spelling));
  };
  const missing = [...ignoredPaths, ...more].filter((path) => !isThere(path));
  if (missing.length === 0) return undefined;
  const gap = now === "" ? "" : now.endsWith("\n") ? "\n" : "\n\n";
  return `${now}${gap}${[ignoreComment, ...missing].join("\n")}\n`;
}

/** The text of .gitignore without our lines; undefined when nothing is left. */
export function withoutIgnored(now: string, booked: string[] = []): string | undefined {
  const ours = new Set([ignoreComment, ...ignoredPaths, ...booked]);
  const from = now.split("\n").findIndex((line) => line.trim() === ignoreComment);
  if (from < 0) return now;
  const lines = now.split("\n");
  let end = from;
  while (end < lines.length && ours.has(lines[end]?.trim() ?? "")) end++;
  const start = from > 0 && lines[from - 1] === "" ? from - 1 : from;
  const rest = [...lines.slice(0, start), ...lines.slice(end)].join("\n");
  return rest.trim() === "" ? undefined : rest;
}

/** Turns a folder into a workspace without a question, for the demo, the example and tests. */
export async function initWorkspace(folder: string, template: string, env: Environment): Promise<Result<string[]>> {
  const root = resolve(folder);
  const planned = workspaceFiles(root, template, env);
  if (!planned.ok) return planned;
  await mkdir(root, { recursive: true });
  const isNew = await initRepository(root, env);
  const written: string[] = [];
  for (const { path, after } of planned.value.files) {
    const file = join(root, path);
    const text = after(existsSync(file) ? readFileSync(file, "utf8") : undefined);
    if (text === undefined) continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    written.push(path);
  }
  await writeEditorSchemas(join(root, ".scriptorium"));
  if (isNew) await firstCommit(root, written, env);
  return ok(written);
}

/** Only for a repository that was just created. */
export async function firstCommit(root: string, paths: string[], env: Environment): Promise<void> {
  const git = openGit(root, env);
  await git.commitFiles(paths, firstSubject, await git.author());
}

/** What a person who signs commits must know. */
export const unsigned = "commits of agents are not signed; approvals are, with approvals: signed in scriptorium.yaml";

export const firstSubject = "Add Scriptorium";
