import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    /** Where workspaces lie that tests copy. */
    templates: string;
  }
}

/** Before all tests: the commands as they ship, and a PostgreSQL of our own. */
export default async function setup(project: TestProject) {
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
  const templates = mkdtempSync(join(tmpdir(), "scriptorium-templates-"));
  project.provide("templates", templates);
  const given = process.env.SCRIPTORIUM_TEST_POSTGRES;
  // What is tested is what we ask of it, not what it does when the power fails.
  const hasty = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const postgres = given ? { url: given, stop: async () => undefined } : await startPostgres(hasty);
  project.provide("postgresUrl", postgres.url);
  return async () => {
    await postgres.stop();
    rmSync(templates, { recursive: true, force: true });
  };
}
