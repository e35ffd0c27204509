import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type App, openApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config/config.ts";
import { type Caller, newTurn } from "../../src/kernel/caller.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { initRepository } from "../../src/store/git/git.ts";
import { historyRef } from "../../src/store/git/history-ref.ts";
import { emptyDocument, withBody } from "../../src/wiki/stores/document.ts";
import { type Place, succeed } from "./place.ts";

export type Workspace = { root: string; open(): Promise<App>; git(...args: string[]): Promise<string> };

type Options = {
  /** Entries with their first text; in the file store they are committed to git before the first `open`. */
  entries: Map<string, string>;
  /** Other pages by path, committed as well. */
  pages?: Record<string, string>;
  /** Ids of logs, empty at first. */
  logs?: string[];
  store?: "files" | "database";
  database?: string;
};

export const role = "engineer";

export const agent = (): Caller => ({ kind: "agent", role, turn: newTurn("bench", true) });

export const openWorkspace = async (root: string, environment: Record<string, string>) =>
  openApp(unwrap(loadConfig(root, environment)));

export async function newWorkspace(place: Place, options: Options): Promise<Workspace> {
  const { entries, pages = {}, logs = [], store = "files", database = "sqlite" } = options;
  const root = place.folder("workspace");
  const git = (...args: string[]) => succeed(place.start("git", ["-C", root, ...args]));
  write(root, "scriptorium.yaml", `name: Bench\nstore: ${store}\ndatabase: ${database}\n`);
  write(root, ".gitignore", ".scriptorium/\n");
  write(root, "wiki/schema.yaml", schemaOf([...entries.keys()], logs));
  if (store === "files") {
    for (const [id, text] of entries) write(root, `wiki/${id}.md`, withBody(emptyDocument, text, titleOf(id)));
  }
  for (const [path, text] of Object.entries(pages)) write(root, path, text);
  await initRepository(root, place.environment);
  await git("config", "user.name", "Ada Lovelace");
  await git("config", "user.email", "ada@example.org");
  await git("add", "-A");
  await git("commit", "-qm", "Begin the book");

  const open = () => openWorkspace(root, place.environment);
  if (store === "database") await fill(await open(), entries);
  return { root, open, git };
}

async function fill(app: App, entries: Map<string, string>): Promise<void> {
  const waiting = [...entries];
  const worker = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop())
      unwrap(await app.entries.commit(next[0], next[1], 0, { name: role, role }));
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  await app.close();
}

function write(root: string, path: string, text: string | Buffer): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const titleOf = (id: string) => `Entry ${id}`;

function schemaOf(entries: string[], logs: string[]): string {
  const line = (mode: string) => (id: string) =>
    `    - { id: ${id}, title: "${titleOf(id)}", mode: ${mode}, writable_by: [${role}], description: What ${id} says. }\n`;
  const sections = [...entries.map(line("snapshot")), ...logs.map(line("log"))].join("");
  return `schema:\n  sections:\n${sections}pipeline: [${role}]\nmax_steps: 1000\nread_cap: 1000\n`;
}

export type Recorded = { entry: string; version: number };

/** The versions in git between two commits, oldest first. */
export async function recordedIn({ git }: Workspace, range: string = historyRef): Promise<Recorded[]> {
  const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=)`;
  const text = await git("log", "--reverse", `--format=${trailer("Entry")} ${trailer("Version")}`, range);
  return text.split("\n").flatMap((line) => {
    const [entry, version] = line.split(" ");
    return entry && version ? [{ entry, version: Number(version) }] : [];
  });
}

/** How often a version of an entry does not follow the one before it, when it began with version `first`. */
export function outOfOrder(recorded: Recorded[], first: number): number {
  const last = new Map<string, number>();
  return recorded.filter(({ entry, version }) => {
    const expected = (last.get(entry) ?? first) + 1;
    last.set(entry, version);
    return version !== expected;
  }).length;
}
