import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startPgbouncer } from "./pgbouncer.ts";
import { postgresFolder, postgresPackage, startPostgres } from "./postgres.ts";
import { preparePrograms } from "./programs.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    /** The same server, also where `postgresUrl` is a pooler before it. */
    postgresDirectUrl: string;
    /** The folder of the workspaces that tests copy. */
    templates: string;
  }
}

/** Before all tests: the build, the programs that tests need, and a PostgreSQL server. */
export default async function setup(project: TestProject) {
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
  const templates = mkdtempSync(join(tmpdir(), "scriptorium-templates-"));
  project.provide("templates", templates);

  const missing = await preparePrograms();
  const postgres = await openPostgres();
  if (!postgres) {
    missing.postgresql = `npm brings no PostgreSQL for this platform (${postgresPackage}); set SCRIPTORIUM_TEST_POSTGRES to the URL of a server`;
  }
  const pooler = process.env.SCRIPTORIUM_TEST_POOLER && postgres ? await startPgbouncer(postgres.url) : undefined;
  project.provide("postgresUrl", pooler?.url ?? postgres?.url ?? "");
  project.provide("postgresDirectUrl", postgres?.url ?? "");
  project.provide("missing", missing);
  return async () => {
    await pooler?.stop();
    await postgres?.stop();
    rmSync(templates, { recursive: true, force: true });
  };
}

async function openPostgres(): Promise<{ url: string; stop(): Promise<void> } | undefined> {
  const given = process.env.SCRIPTORIUM_TEST_POSTGRES;
  if (given) return { url: given, stop: async () => undefined };
  if (!(await postgresFolder())) return undefined;
  // The tests kill our processes, never the database server: durability of its own is not at stake. Autovacuum would
  // start a process for each database in turn, several times a second when there are hundreds.
  return startPostgres(["fsync=off", "full_page_writes=off", "autovacuum=off"]);
}
