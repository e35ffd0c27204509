import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scriptoriumProcess, serveProcess } from "./support/commands.ts";
import { planned } from "./support/crew.ts";
import {
  cloneHost,
  emptyHost,
  gate,
  inboxOf,
  key,
  planOf,
  repositoryHost,
  rows,
  shown,
  until,
  watch,
} from "./support/hosts.ts";
import { runsLongTests } from "./support/long-tests.ts";
import { ask } from "./support/requests.ts";
import { engines } from "./support/workspace.ts";

const files = ["1.1", "1.2", "1.3", "1.4", "1.5", "1.6"];
const tasks = [planned("0"), ...files.map((number) => planned(number)), planned("1.7", { depends_on: files })];
const delivered = [...files, "1.7"].map((number) => `out/${number}.txt`);

describe("several machines on one PostgreSQL", () => {
  test.each(runsLongTests ? ["an empty folder", "a clone"] : ["an empty folder"])(
    "M1: a run over three machines, two with %s of which one is killed, has every file in its accepted branch",
    async (kind) => {
      const { root, git, database } = await repositoryHost(tasks);
      const run = await planOf(root);
      const command = kind === "a clone" ? ["work"] : ["work", "--database", database];
      const [second, third] = [1, 2].map(() =>
        watch([...command, "--workers", "2"], kind === "a clone" ? cloneHost(root) : emptyHost()),
      );
      const first = watch(["execute", run, "--workers", "1", "--json"], { cwd: root, env: key });
      await until("the third machine to begin a task", () => third?.out().includes("started:") ?? false);
      third?.child.kill("SIGKILL");
      expect([await first.ended, first.out().trim().split("\n").at(-1)]).toEqual([
        0,
        expect.stringContaining('"state":"completed"'),
      ]);

      expect(second?.out()).toContain("delivered 1 changed file");
      const accepted = git("ls-tree", "-r", "--name-only", `scriptorium/${run}/accepted`).split("\n");
      expect(accepted.filter((path) => path.startsWith("out/"))).toEqual(delivered);
      const { tasks: ended } = await shown(root, run);
      expect(ended.filter(({ state }) => state !== "completed")).toEqual([]);
      const report = readFileSync(join(root, "runs", run, "execution-report.md"), "utf8");
      expect(report).toContain("8 of 8 tasks accepted. 7 files changed.");
      expect(await rows(database, "SELECT task_id FROM attempts WHERE phase LIKE '%failed%'")).toEqual([]);

      second?.child.kill("SIGTERM");
      await second?.ended;
      const cleaned = await scriptoriumProcess(["run", "clean", run, "--unmerged", "--json"], { cwd: root, env: key });
      expect(cleaned.json<{ stored_bytes: number }>().stored_bytes).toBeGreaterThan(0);
      expect(await rows(database, "SELECT count(*)::int AS n FROM git_pack_chunks")).toEqual([{ n: 0 }]);
    },
  );

  test("M1: work of a machine that is gone is verified, merged and shown by another, from the database alone", async () => {
    const verified = gate();
    const { root, git, database } = await repositoryHost([planned("0"), planned("1.1")], {
      before: async (number, { tools }) => {
        if (number === "1.1" && tools.includes("submit_verdict")) await verified.opened;
      },
    });
    const run = await planOf(root);
    const host = emptyHost();
    const worker = watch(["work", "--database", database], host);
    const first = watch(["execute", run, "--workers", "1"], { cwd: root, env: key });
    await until("a delivered file", async () => (await rows(database, deliveries)).length === 1);
    for (const { child, ended } of [worker, first]) {
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(host.cwd, { recursive: true, force: true });
    for (const ref of git("for-each-ref", "--format=%(refname)", "refs/heads/scriptorium").split("\n"))
      if (ref !== "") git("update-ref", "-d", ref);
    git("reflog", "expire", "--expire=now", "--all");
    git("gc", "--quiet", "--prune=now");
    verified.open();
    const resumed = await scriptoriumProcess(["run", "resume", run, "--json"], { cwd: root, env: key });
    expect([resumed.code, resumed.stderr]).toEqual([0, ""]);
    expect(git("show", `scriptorium/${run}/accepted:out/1.1.txt`)).toBe("1.1");
    expect(await rows(database, "SELECT DISTINCT attempt::int FROM attempts")).toEqual([{ attempt: 1 }]);
    expect((await scriptoriumProcess(["run", "merge", run, "--json"], { cwd: root, env: key })).code).toBe(0);
  });

  test("M1: a clone that lacks the commit a run started from claims nothing and says what to do", async () => {
    const { root, git, file, database } = await repositoryHost([planned("0"), planned("1.1")]);
    const host = cloneHost(root);
    writeFileSync(file("later.txt"), "later\n");
    git("add", "later.txt");
    git("commit", "-qm", "Later");
    const run = await planOf(root);
    const worker = watch(["work"], host);
    const ran = await scriptoriumProcess(["execute", run, "--json"], { cwd: root, env: key });
    expect(ran.code).toBe(0);
    await until("a reason", () => worker.out().includes("waits: this clone lacks commit"));
    expect(worker.out()).toContain("run git fetch here, or start scriptorium work --database in an empty folder");
    expect(worker.out()).not.toContain("started:");
    expect(await rows(database, "SELECT DISTINCT attempt::int FROM attempts")).toEqual([{ attempt: 1 }]);
  });

  test("M1: a repository that is too large for the database is worked on where it is, and others say why they wait", async () => {
    const random = randomBytes(1_500_000).toString("base64");
    const { root, database } = await repositoryHost([planned("0"), planned("1.1")], {
      repository: { "large.txt": random },
      more: { pack_mb: 1 },
    });
    const run = await planOf(root);
    const worker = watch(["work", "--database", database], emptyHost());
    const ran = await scriptoriumProcess(["execute", run, "--json"], { cwd: root, env: key });
    expect(ran.code).toBe(0);
    await until("a reason", () => worker.out().includes("waits: the files that"));
    expect(worker.out()).toContain("crew.pack_mb");
  });
});

const deliveries = "SELECT task_id FROM attempts WHERE commit_id IS NOT NULL";

describe.each(engines)("the lease of a run on %s", (engine) => {
  const some = [planned("0"), planned("1.1"), planned("1.2"), planned("1.3", { depends_on: ["1.1", "1.2"] })];

  test("M4: a server that is stopped hands its run over, and the next server finishes it by itself", async () => {
    const [reached, go] = [gate(), gate()];
    const { root, git } = await repositoryHost(some, {
      engine,
      before: async (number) => {
        if (number !== "1.2") return;
        reached.open();
        await go.opened;
      },
    });
    const run = await planOf(root);
    const server = await serveProcess(root, key);
    const asked = { token: server.token, method: "POST", body: {} };
    expect((await ask(server.url, `/api/runs/${run}/execute`, asked)).status).toBe(200);
    await reached.opened;
    await server.stop("SIGTERM");
    expect(await shown(root, run)).toMatchObject({ state: "running", reason: null });
    const inbox = await inboxOf(root);
    expect(inbox).toMatchObject({ waiting: 1, runs: [{ id: run, state: "running", stalled: true }] });
    expect(inbox.runs[0]?.reason).toContain("no process executes it: the last one");

    go.open();
    await serveProcess(root, key);
    await until("the run to end", async () => (await shown(root, run)).state === "completed");
    expect(git("show", `scriptorium/${run}/accepted:out/1.3.txt`)).toBe("1.3");
    expect((await inboxOf(root)).waiting).toBe(0);
  });

  test.each(runsLongTests ? (["SIGKILL", "SIGSTOP"] as const) : (["SIGSTOP"] as const))(
    "M4: when the carrier of a run gets %s, a worker takes the run over, finishes it and writes its report",
    async (signal) => {
      const [reached, go] = [gate(), gate()];
      const { root, git } = await repositoryHost(some, {
        engine,
        before: async (number) => {
          if (number !== "0") return;
          reached.open();
          await go.opened;
        },
      });
      const run = await planOf(root);
      const carrier = watch(["execute", run, "--json"], { cwd: root, env: key });
      await reached.opened;
      const worker = watch(["work"], { cwd: root, env: key });
      carrier.child.kill(signal);
      go.open();
      await until("the run to end", async () => (await shown(root, run)).state === "completed");
      expect(worker.out()).toContain(`${run} was taken over`);
      expect(git("ls-tree", "-r", "--name-only", `scriptorium/${run}/accepted`, "out").split("\n")).toHaveLength(3);
      const report = join(root, "runs", run, "execution-report.md");
      await until("the report", () => existsSync(report) && readFileSync(report, "utf8").includes("4 of 4 tasks"));
      if (signal === "SIGKILL") return;
      carrier.child.kill("SIGCONT");
      expect([await carrier.ended, carrier.out()]).toEqual([0, expect.stringContaining('"state":"completed"')]);
      expect((await shown(root, run)).tasks.map(({ state }) => state)).toEqual(some.map(() => "completed"));
    },
  );
});
