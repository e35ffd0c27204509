import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { skillFiles } from "../agents/skills.ts";
import type { Config } from "../config/config.ts";
import { configName } from "../config/environment.ts";
import { parseSchema } from "../wiki/schema.ts";
import { isInside } from "./change.ts";
import { isAsWritten, type SetupRecord } from "./record.ts";

/** Files and folders of the workspace that `remove` deletes, relative to the root. */
export type OwnFiles = { files: string[]; folders: string[]; left: string[] };

/** What is ours by name, by the schema or by the record. Files that were there before `init` are the person's. */
export async function ownFiles(config: Config, record: SetupRecord, keepWiki: boolean): Promise<OwnFiles> {
  const { root, sources } = config;
  const kept = new Set(record.kept);
  // A folder that is a link may lead anywhere: nothing behind one is deleted.
  const isPlain = (path: string) =>
    existsSync(join(root, path)) && isInside(realpathSync(dirname(join(root, path))), realpathSync(root));
  const isThere = (path: string) => isPlain(path) && lstatSync(join(root, path)).isFile();
  const pages = keepWiki ? [] : wikiFiles(config, record).filter((path) => isThere(path) && !kept.has(path));
  const files = [
    configName,
    ...pages,
    `${sources}/.gitkeep`,
    ...listed(join(root, "generated-agents"))
      .filter(isPreamble)
      .map((name) => `generated-agents/${name}`),
    ...(await ownSkills(root, record)),
  ].filter((path) => isThere(path) && !kept.has(path));
  const runs = listed(join(root, "runs"))
    .filter((name) => /^run-[0-9a-z]+$/.test(name))
    .map((name) => `runs/${name}`);
  const folders = runs.filter((path) => isPlain(path) && lstatSync(join(root, path)).isDirectory());
  return { files, folders, left: leftFiles(config, files, keepWiki) };
}

const isPreamble = (name: string) => /^(brief|pm|preamble|worker|qc|reporter)-[0-9a-f]+\.md$/.test(name);

/** The schema, its sections, and what `init` created in the wiki. */
function wikiFiles({ root, wiki }: Config, { edits }: SetupRecord): string[] {
  const file = join(root, wiki, "schema.yaml");
  const schema = existsSync(file) ? parseSchema(readFileSync(file, "utf8"), file) : undefined;
  const sections = schema?.ok ? schema.value.sections.map(({ id }) => `${wiki}/${id}.md`) : [];
  const created = edits.filter((edit) => edit.undo === undefined && edit.file.startsWith(`${wiki}/`));
  return [...new Set([`${wiki}/schema.yaml`, ...sections, ...created.map((edit) => edit.file)])];
}

/** Skills that `init --skills` installed, or that are exactly ours. */
async function ownSkills(root: string, record: SetupRecord): Promise<string[]> {
  return (await skillFiles()).flatMap(({ path, text }) => {
    const file = join(root, path);
    if (!existsSync(file)) return [];
    const now = readFileSync(file, "utf8");
    return now === text || isAsWritten(record, path, now) ? [path] : [];
  });
}

/** Folders that keep files of the person, with their number. */
function leftFiles({ root, wiki, sources }: Config, files: string[], keepWiki: boolean): string[] {
  const gone = new Set(files);
  return [...new Set([wiki, sources])].flatMap((folder) => {
    const names = listed(join(root, folder), true).filter(
      (name) => !gone.has(`${folder}/${name}`) && lstatSync(join(root, folder, name)).isFile(),
    );
    if (names.length === 0) return [];
    const why = folder === wiki && keepWiki ? "--keep-wiki" : "not created by Scriptorium";
    return [
      `${folder}/ (${names.length} ${names.length === 1 ? "file" : "files"}, ${folder === sources ? "your sources" : why})`,
    ];
  });
}

function listed(folder: string, recursive = false): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: "utf8" });
  } catch {
    return [];
  }
}
