import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { type App, openApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config/config.ts";
import { findWorkspace, stateFolderOf } from "../../src/config/environment.ts";
import { type Caller, newTurn } from "../../src/kernel/caller.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { ownerToken } from "../../src/people/token-person.ts";
import type { Database } from "../../src/store/database.ts";
import { historyRef } from "../../src/store/git/history-ref.ts";
import { historyTip } from "../../src/store/git/recorder.ts";
import { setMeta } from "../../src/store/queries/meta.ts";
import { initWorkspace } from "../../src/wiki/init.ts";
import { runsLongTests } from "./long-tests.ts";
import { skipWithout } from "./programs.ts";

/** A store of the user's own is one of docs/examples/stores. */
export type Backend = { store: "files" | "database" | "./folder.mjs"; engine: Database["engine"] };

export const engines = ["sqlite", "postgres"] as const;

/**
 * For behaviour above the store: `npm test` has it on SQLite, the long run on both engines. Transactions, claims,
 * leases, search and migrations are tested on both each time.
 */
export const sampledEngines: readonly Database["engine"][] = runsLongTests ? engines : ["sqlite"];

const crossed: Backend[] = [
  { store: "files", engine: "postgres" },
  { store: "database", engine: "sqlite" },
];

/** Every way entries can be kept: the contract holds for each. `npm test` has each store and each engine once. */
export const backends: Backend[] = [
  { store: "files", engine: "sqlite" },
  ...(runsLongTests ? crossed : []),
  { store: "database", engine: "postgres" },
];

export const gitPerson = { name: "Ada Lovelace", email: "ada@example.org" };

/**
 * An environment in which git has just the configuration that the test gives it. Tests configure programs, servers
 * and sandboxes freely, so every workspace in the temporary folder is trusted; tests of trust itself pass
 * `untrusted` as well. The settings and confirmations of the person who runs the tests play no part.
 */
export const testEnvironment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? "",
  HOME: process.env.HOME ?? "",
  LANG: "C.UTF-8",
  SCRIPTORIUM_TRUSTED_FOLDERS: tmpdir(),
  XDG_CONFIG_HOME: join(inject("templates"), "config"),
  XDG_STATE_HOME: join(inject("templates"), "state"),
});

/** How the person who runs the tests reaches the network: their registry may need a proxy or certificates. */
export const personsNetwork = (): Record<string, string> => {
  const names = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
};

export const untrusted = { SCRIPTORIUM_TRUSTED_FOLDERS: "" };

export const gitIn =
  (root: string) =>
  (...args: string[]) =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8", env: testEnvironment() }).trim();

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An empty database, or a copy of another. */
export async function freshDatabase(template = "template1"): Promise<string> {
  skipWithout("postgresql");
  const name = `test_${randomBytes(6).toString("hex")}`;
  // Copying the files takes 16 ms of CPU time instead of 27: the default writes every block to the log as well.
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return `${inject("postgresUrl")}/${name}`;
}

/** A copy of a database of a workspace whose folder is copied too: the first folder that opens it owns its files. */
export async function databaseForCopy(template: string): Promise<string> {
  const url = await freshDatabase(template);
  await administer("DELETE FROM meta WHERE key = 'home'", url);
  return url;
}

async function administer(statement: string, url = inject("postgresDirectUrl")): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
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
  open(env?: Record<string, string>): Promise<App>;
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
  const git = gitIn(root);
  const template = await templateOf({ store, engine, schema });
  cpSync(template.folder, root, { recursive: true });
  const isPlain = Object.keys(files).length === 0;
  const url = engine === "postgres" ? await freshDatabase(isPlain ? template.database : undefined) : "sqlite";
  const history = join(root, ".git", historyRef);
  if (!isPlain) {
    for (const name of ["scriptorium.db", "book.json"]) rmSync(join(root, ".scriptorium", name), { force: true });
    rmSync(history, { force: true });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    git("add", "-A");
  }
  const own = configFor(store, url, config);
  let amended = false;
  if (own !== read(join(root, "scriptorium.yaml")) || !isPlain) {
    writeFileSync(join(root, "scriptorium.yaml"), own);
    git("commit", "-qa", "--amend", "--no-edit");
    if (existsSync(history)) cpSync(join(root, ".git/refs/heads/main"), history);
    amended = true;
  }

  const open = async (env: Record<string, string> = {}) => {
    const app = await openApp(unwrap(loadConfig(root, { ...testEnvironment(), ...env })));
    onTestFinished(() => app.close().catch(() => undefined));
    return app;
  };
  const app = await open();
  if (amended && isPlain && store === "files")
    await app.db.write((tx) => setMeta(tx, historyTip, git("rev-parse", historyRef)));
  return {
    root,
    app,
    git,
    open,
    file: (path) => join(root, path.endsWith(".md") ? `wiki/${path}` : path),
  };
}

const configFor = (store: string, url: string, more = "") => `name: Test\nstore: ${store}\ndatabase: ${url}\n${more}`;

type Kind = Backend & { schema: string };

/**
 * To make a repository, a database and its index takes some twenty processes and as many fsyncs, for
 * hundreds of tests. So each kind of workspace is made once, by whichever test comes first, and copied.
 */
async function templateOf(kind: Kind): Promise<{ folder: string; database: string }> {
  const hash = createHash("sha256").update(JSON.stringify(kind)).digest("hex").slice(0, 16);
  const folder = join(inject("templates"), hash);
  const database = `template_${hash}`;
  if (existsSync(folder)) return { folder, database };

  const draft = `${folder}.${randomBytes(6).toString("hex")}`;
  const url = kind.engine === "postgres" ? await freshDatabase() : "sqlite";
  await makeTemplate(draft, url, kind);
  try {
    if (kind.engine === "postgres") {
      const name = url.split("/").at(-1);
      // A pooler keeps its connections for a while.
      await administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
      await administer(`ALTER DATABASE ${url.split("/").at(-1)} RENAME TO ${database}`).catch((error) => {
        // Another worker was quicker with the same one.
        if (error.code !== "42P04") throw error;
      });
    }
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(draft, { recursive: true, force: true });
  }
  return { folder, database };
}

async function makeTemplate(root: string, url: string, { store, schema }: Kind): Promise<void> {
  const git = gitIn(root);
  execFileSync("git", ["init", "-q", "--template=", "-b", "main", root]);
  git("config", "user.name", gitPerson.name);
  git("config", "user.email", gitPerson.email);
  mkdirSync(join(root, "wiki"));
  writeFileSync(join(root, "wiki/schema.yaml"), schema);
  writeFileSync(join(root, "scriptorium.yaml"), configFor(store, url));
  if (store.startsWith(".")) cpSync(new URL(`../../docs/examples/stores/${store}`, import.meta.url), join(root, store));
  unwrap(await initWorkspace(root, "crew", testEnvironment()));
  git("add", "-A");
  git("commit", "-qm", "Begin");
  const config = loadConfig(root, testEnvironment());
  // A schema that is wrong on purpose has no index.
  const app = config.ok ? await openApp(config.value).catch(() => undefined) : undefined;
  await app?.close();
  ownerToken(stateFolderOf(root));
}

/** The token of the person whose workspace it is, in the environment of a command; nothing outside a workspace. */
export function ownerEnvironment(folder: string): Record<string, string> {
  const root = findWorkspace(folder);
  const file = root.ok ? join(stateFolderOf(root.value), "token") : "";
  return existsSync(file) ? { SCRIPTORIUM_TOKEN: read(file).trim() } : {};
}

export const agent = (role: string, run?: string): Caller => ({ kind: "agent", role, turn: newTurn(run, true) });

export const person = (rank: "reader" | "collaborator" | "admin" = "admin"): Caller => ({
  kind: "person",
  name: gitPerson.name,
  email: gitPerson.email,
  rank,
  proof: "token",
});

export const read = (path: string) => readFileSync(path, "utf8");

/** Every event, as the table has it, sealed or not. */
export async function allEvents(app: App): Promise<{ actor: string; kind: string; subject: string; data: unknown }[]> {
  const rows = await app.db.read.selectFrom("events").selectAll().orderBy("seq").execute();
  return rows.map(({ actor, kind, subject, data }) => ({ actor, kind, subject, data: JSON.parse(data) }));
}
