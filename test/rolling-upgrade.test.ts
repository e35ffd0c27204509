import { execFileSync, spawn } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveProcess } from "./support/commands.ts";
import { needs, skipNow } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { freshDatabase, newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const repository = new URL("../", import.meta.url).pathname;

/** The last commit before several servers could share a database: its build stands for the previous version. */
const previous = "013d4f31";

function buildPrevious(): string {
  const folder = join(temporaryFolder(), "previous");
  try {
    execFileSync("git", ["-C", repository, "cat-file", "-e", `${previous}^{commit}`], { stdio: "ignore" });
  } catch {
    skipNow(`commit ${previous} is not in this clone, which is shallow`);
  }
  execFileSync("git", ["-C", repository, "worktree", "add", "-q", "--detach", folder, previous]);
  onTestFinished(() => void execFileSync("git", ["-C", repository, "worktree", "remove", "--force", folder]));
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: folder, stdio: "ignore" });
  return join(folder, "dist/scriptorium.js");
}

async function servePrevious(program: string, cwd: string): Promise<{ url: string; token: string }> {
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--json"], { cwd, env: testEnvironment() });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  let [stdout, stderr] = ["", ""];
  child.stderr.on("data", (chunk) => (stderr += chunk));
  await new Promise<void>((done) => {
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      if (stdout.includes("\n")) done();
    });
    void ended.then(done);
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

test(
  "M12: a server of the previous version serves while a newer one migrates and after it",
  needs("postgresql"),
  async () => {
    const program = buildPrevious();
    const { root, app } = await newWorkspace({ store: "database" });
    await app.close();
    writeFileSync(join(root, "scriptorium.yaml"), `name: Test\nstore: database\ndatabase: ${await freshDatabase()}\n`);
    const old = await servePrevious(program, root);
    const append = (to: { url: string; token: string }, line: string) =>
      ask(to.url, "/api/entries/decisions/log", { method: "POST", token: to.token, body: { line } });
    const create = (to: { url: string; token: string }, title: string) =>
      ask(to.url, "/api/tasks", { method: "POST", token: to.token, body: { title } });
    expect((await append(old, "before")).status).toBe(200);
    let stop = false;
    const during: number[] = [];
    const writing = (async () => {
      for (let n = 0; !stop; n++) during.push((await append(old, `during ${n}`)).status);
    })();
    const fresh = await serveProcess(root);
    await expect.poll(() => during.length).toBeGreaterThan(3);
    stop = true;
    await writing;
    expect(during.filter((status) => status !== 200)).toEqual([]);
    expect((await append(fresh, "new")).status).toBe(200);
    for (const [server, title] of [
      [old, "Of the old"],
      [fresh, "Of the new"],
    ] as const) {
      const made = await create(server, title);
      expect(made.status, made.text).toBe(200);
    }
    for (const path of ["/api/entries", "/api/tasks", "/api/runs", "/api/topics", "/api/proposals", "/api/inbox"]) {
      const [one, other] = await Promise.all([old, fresh].map(({ url, token }) => ask(url, path, { token })));
      expect([path, one?.status]).toEqual([path, other?.status]);
      expect(one?.status).toBeLessThan(500);
    }
    const titles = (await ask(old.url, "/api/tasks", { token: old.token })).text;
    expect(titles).toContain("Of the old");
    expect(titles).toContain("Of the new");
  },
);
