import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { configName, type Environment } from "../config/environment.ts";
import { packageFile } from "../kernel/package-files.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { gitAt, initRepository } from "../store/git/git.ts";
import { loadBinding } from "../store/sqlite/binding.ts";
import { writeEditorSchemas } from "./editor-schemas.ts";
import { parseSchema, type Section } from "./schema.ts";
import { emptyDocument, withBody } from "./stores/document.ts";

export type InitReport = {
  root: string;
  /** Paths of created files, and of existing files that were left unchanged. */
  created: string[];
  kept: string[];
  repository: "new" | "existing";
};

const templates = packageFile("templates/");

/** The bundled templates with their descriptions. */
export function listTemplates(): { name: string; about: string }[] {
  return readdirSync(templates).map((name) => {
    const about = new URL(`${name}/about.txt`, templates);
    return { name, about: existsSync(about) ? readFileSync(about, "utf8").trim() : "" };
  });
}

/** Turns a folder into a workspace. Existing files are left unchanged (K15). */
export async function initWorkspace(folder: string, template: string, env: Environment): Promise<Result<InitReport>> {
  const names = listTemplates().map((known) => known.name);
  if (!names.includes(template)) return refuse("invalid", `no template ${template}; there are ${names.join(", ")}`);

  const root = resolve(folder);
  if (existsSync(root) && !statSync(root).isDirectory()) return refuse("invalid", `${folder} is a file; name a folder`);
  // Throws before anything is written: a workspace whose database cannot be opened is useless.
  loadBinding();
  await mkdir(root, { recursive: true });
  const isNew = await initRepository(root, env);
  const report: InitReport = { root, created: [], kept: [], repository: isNew ? "new" : "existing" };

  const schemaText = await readFile(new URL(`${template}/schema.yaml`, templates), "utf8");
  await place(report, configName, configText(root));
  await place(
    report,
    "wiki/schema.yaml",
    `# yaml-language-server: $schema=../.scriptorium/schemas/schema.json\n${schemaText}`,
  );
  const schema = parseSchema(await readFile(join(root, "wiki/schema.yaml"), "utf8"), "wiki/schema.yaml");
  if (!schema.ok) return schema;
  for (const section of schema.value.sections) await place(report, `wiki/${section.id}.md`, emptyEntry(section));
  await place(report, "sources/.gitkeep", "");
  await ignoreState(report);
  await writeEditorSchemas(join(root, ".scriptorium"));
  if (isNew) await firstCommit(root, report.created, env);
  return ok(report);
}

const configText = (root: string) => `# yaml-language-server: $schema=.scriptorium/schemas/config.json
# Where entries are kept: files (markdown in git) or database.
# store: files
# The database: sqlite (a file in .scriptorium/), or postgres://… for a team on many machines.
# database: sqlite
name: ${JSON.stringify(root.split("/").at(-1) || "workspace")}
`;

const emptyEntry = (section: Section) => withBody(emptyDocument, "", section.title);

async function place(report: InitReport, path: string, content: string | Buffer): Promise<void> {
  const file = join(report.root, path);
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeFile(file, content, { flag: "wx" });
    report.created.push(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    report.kept.push(path);
  }
}

async function ignoreState(report: InitReport): Promise<void> {
  const file = join(report.root, ".gitignore");
  const text = existsSync(file) ? await readFile(file, "utf8") : "";
  if (/^\/?\.scriptorium\/?$/m.test(text)) return;
  await appendFile(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}.scriptorium/\n`);
  report.created.push(relative(report.root, file));
}

/** Only for a repository that `init` has created: in an existing one people commit themselves. */
export async function firstCommit(root: string, paths: string[], env: Environment): Promise<void> {
  const git = gitAt(root, env);
  const person = (await git.person()) ?? { name: "Scriptorium", email: "scriptorium@localhost.invalid" };
  const author = { name: person.name, email: person.email || "unknown@localhost.invalid" };
  await git.commitFiles(paths, "Begin the book", author);
}
