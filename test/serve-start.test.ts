import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveProcess, start } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { engines, freshDatabase, newWorkspace } from "./support/workspace.ts";

describe.each(engines)("the start of a server, on %s", (engine) => {
  test("M2: a server that fails after it has begun to listen says why and ends", async () => {
    const { root, app } = await newWorkspace({ engine });
    await app.db.write((tx) => sql`ALTER TABLE sign_in_codes RENAME TO gone`.execute(tx));
    const { database } = app.config;
    const env: Record<string, string> =
      database.engine === "postgres" ? { SCRIPTORIUM_DATABASE_URL: database.url } : {};
    await app.close();
    const child = start("scriptorium.js", ["serve", "--port", "0"], root, env);
    onTestFinished(() => void child.kill("SIGKILL"));
    let stderr = "";
    child.stderr?.on("data", (chunk) => (stderr += chunk));
    await expect.poll(() => child.exitCode, { timeout: 120_000 }).toBe(1);
    expect(stderr).toContain("sign_in_codes");
  });
});

test(
  "M2: a server whose database does not answer when it resumes runs goes on trying, and SIGTERM ends it",
  needs("postgresql"),
  async () => {
    const database = await freshDatabase();
    const { root, app } = await newWorkspace({ store: "database" });
    await app.close();
    const timeouts = "postgresql: { statement_timeout: 1s, retry_timeout: 1s }\n";
    writeFileSync(join(root, "scriptorium.yaml"), `name: Test\nstore: database\ndatabase: ${database}\n${timeouts}`);
    const first = await serveProcess(root);
    await first.stop();

    const client = new pg.Client({ connectionString: database });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("BEGIN; LOCK TABLE plan_changes IN ACCESS EXCLUSIVE MODE");
    const { url, child } = await serveProcess(root);
    let stderr = "";
    child.stderr?.on("data", (chunk) => (stderr += chunk));
    await expect.poll(() => stderr.match(/take-over-failed/g)?.length ?? 0).toBeGreaterThan(1);
    const line = stderr.split("\n").find((one) => one.includes("take-over-failed")) ?? "{}";
    expect(JSON.parse(line)).toMatchObject({ host: expect.any(String), process: expect.stringMatching(/:\d+:\d+:/) });
    expect((await ask(url, "/healthz")).status).toBe(200);
    child.kill("SIGTERM");
    await expect.poll(() => child.exitCode, { timeout: 30_000 }).toBe(0);
  },
);
