import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { type App, openApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config.ts";
import { type Caller, newTurn } from "../../src/people/caller.ts";
import { unwrap } from "../../src/result.ts";
import type { Database } from "../../src/store/database.ts";
import { initWorkspace } from "../../src/wiki/init.ts";

export type Backend = { store: "files" | "database"; engine: Database["engine"] };

export const engines = ["sqlite", "postgres"] as const;

/** Every way entries can be kept: the contract holds for each. */
export const backends: Backend[] = [
  { store: "files", engine: "sqlite" },
  { store: "files", engine: "postgres" },
  { store: "database", engine: "sqlite" },
  { store: "database", engine: "postgres" },
];

export const gitPerson = { name: "Ada Lovelace", email: "ada@example.org" };

/** An environment in which git has just the configuration that the test gives it. */
export const testEnvironment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? "",
  HOME: process.env.HOME ?? "",
  LANG: "C.UTF-8",
});

export const gitIn =
  (root: string) =>
  (...args: string[]) =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8", env: testEnvironment() }).trim();

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function freshDatabase(): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return `${inject("postgresUrl")}/${name}`;
}

export const sampleSchema = `# What this team writes down, and who may.
schema:
  sections:
    - id: vision
      title: Vision
      mode: snapshot
      writable_by: [planner]
      description: Where we are going.
    # the architect's part
    - { id: design, title: Design, mode: snapshot, writable_by: [architect, planner], description: How it is built. }
    - id: api/errors
      title: Errors
      mode: snapshot
      writable_by: [engineer]
      description: What can go wrong.
      summary: Codes and what they mean
    - id: notes
      title: Notes
      mode: snapshot
      writable_by: [planner, architect, engineer]
      description: Anything else.
    - id: glossary
      title: Glossary
      mode: snapshot
      writable_by: [planner, architect, engineer]
      description: Words.
    - id: decisions
      title: Decisions
      mode: log
      writable_by: [planner, architect, engineer]
      description: What was decided, by whom and why.
pipeline: [planner, architect, engineer]
max_steps: 5
`;

export type TestWorkspace = {
  root: string;
  app: App;
  /** The path of an entry's file, or of any other file of the workspace. */
  file(path: string): string;
  git(...args: string[]): string;
  /** Another process's view of the same workspace. */
  open(): Promise<App>;
};

type Options = Partial<Backend> & {
  schema?: string;
  /** More of scriptorium.yaml. */
  config?: string;
  /** Further files, committed with the rest. */
  files?: Record<string, string>;
};

/** A real workspace in a temporary folder: real files, real git, a real database. */
export async function newWorkspace({
  store = "files",
  engine = "sqlite",
  schema = sampleSchema,
  config = "",
  files = {},
}: Options = {}): Promise<TestWorkspace> {
  const root = temporaryFolder();
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8", env: testEnvironment() }).trim();
  execFileSync("git", ["init", "-q", "-b", "main", root]);
  git("config", "user.name", gitPerson.name);
  git("config", "user.email", gitPerson.email);
  execFileSync("mkdir", ["-p", join(root, "wiki")]);
  writeFileSync(join(root, "wiki/schema.yaml"), schema);
  const url = engine === "postgres" ? await freshDatabase() : "sqlite";
  writeFileSync(join(root, "scriptorium.yaml"), `name: Test\nstore: ${store}\ndatabase: ${url}\n${config}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  unwrap(await initWorkspace(root, "crew", testEnvironment()));
  git("add", "-A");
  git("commit", "-qm", "Begin");

  const open = async () => {
    const app = await openApp(unwrap(loadConfig(root, testEnvironment())));
    onTestFinished(() => app.close().catch(() => undefined));
    return app;
  };
  return {
    root,
    app: await open(),
    git,
    open,
    file: (path) => join(root, path.endsWith(".md") ? `wiki/${path}` : path),
  };
}

export const agent = (role: string, run?: string): Caller => ({ kind: "agent", role, turn: newTurn(run, true) });

export const person = (rank: "reader" | "collaborator" | "admin" = "admin"): Caller => ({
  kind: "person",
  name: gitPerson.name,
  email: gitPerson.email,
  rank,
});

export const read = (path: string) => readFileSync(path, "utf8");

/**
 * Every event, as the table has it. Readers of the feed on PostgreSQL wait for the oldest transaction
 * of the whole server, and other tests have theirs; what was written is there at once.
 */
export async function allEvents(app: App): Promise<{ actor: string; kind: string; subject: string; data: unknown }[]> {
  const rows = await app.db.read.selectFrom("events").selectAll().orderBy("seq").execute();
  return rows.map(({ actor, kind, subject, data }) => ({ actor, kind, subject, data: JSON.parse(data) }));
}
