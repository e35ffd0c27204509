import { execFileSync } from "node:child_process";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

/** Before all tests: the commands as they ship, and a PostgreSQL of our own. */
export default async function setup(project: TestProject) {
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
  const given = process.env.SCRIPTORIUM_TEST_POSTGRES;
  if (given) return project.provide("postgresUrl", given);
  const postgres = await startPostgres();
  project.provide("postgresUrl", postgres.url);
  return postgres.stop;
}
