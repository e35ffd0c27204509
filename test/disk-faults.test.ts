import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import type { Result } from "../src/kernel/result.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { createSection } from "../src/review/proposals/section-operations.ts";
import { crashAt, hasFailed } from "../src/store/disk/crash.ts";
import { readIfThere } from "../src/store/disk/disk.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { scribeProcess, scriptoriumProcess, serve, serveProcess } from "./support/commands.ts";
import { overHttp } from "./support/mcp.ts";
import { ask } from "./support/requests.ts";
import { thorough } from "./support/thorough.ts";
import {
  agent,
  newWorkspace,
  person,
  read,
  type TestWorkspace,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

afterEach(() => crashAt(undefined));

const page = "docs/deploy.md";
const before = "# Deploy\n\nOn Fridays.\n";
const after = "# Deploy\n\nOn Tuesdays.\n";
const identity = "agent:\n  author_name: Larkspur Scribe\n  author_email: scribe@example.org\n";

type Finding = { state: string; area: string };

type Act = {
  what: string;
  /** Prepares it and returns how to do it, and what is there when it has been done. */
  prepare(made: TestWorkspace): Promise<{ perform(): Promise<Result<unknown>>; found(app: App): Promise<string> }>;
  /** Other files of the workspace. */
  files?: Record<string, string>;
  /** True when readers see it only once its file can be renamed. */
  lags?: boolean;
  /** False for an act of several: those before the refused one stay, and a repetition does the rest. */
  isOneTransaction?: boolean;
  /** What `found` returns before and after. */
  old: string;
  fresh: RegExp;
};

const propose = async (app: App, path: string, base: string, text: string) => {
  const about = { id: "t-1", path, kind: "change", status: "open" };
  return unwrap(await proposePage(app, about, { baseSha: blobOf(base), text }, agent("engineer"))).id;
};

const acts: Act[] = [
  {
    what: "a commit",
    old: "",
    fresh: /^new text\n$/,
    prepare: async ({ app }) => ({
      perform: () =>
        operations.commit_entry.perform(app, { id: "vision", content: "new text\n", version: 1 }, agent("planner")),
      found: async (now) => (await now.entries.fetch("vision")).content,
    }),
  },
  {
    what: "an append",
    old: "",
    fresh: /^- \S+ engineer \(run \S+\): once\n$/,
    prepare: async ({ app }) => ({
      perform: () => operations.append_log.perform(app, { id: "decisions", line: "once" }, agent("engineer")),
      found: async (now) => (await now.entries.fetch("decisions")).content,
    }),
  },
  {
    what: "the approval of a page",
    files: { [page]: before },
    old: before,
    fresh: new RegExp(`^${after}$`),
    async prepare({ app }) {
      const id = await propose(app, page, before, after);
      return {
        perform: () => operations.approve_proposal.perform(app, { id }, person()),
        found: async (now) => unwrap(await now.pages.read(page)).text,
      };
    },
  },
  {
    what: "the approval of an entry",
    old: "",
    fresh: /^Approved\.\n$/,
    async prepare({ app, file }) {
      const text = read(file("notes.md"));
      const id = await propose(app, "wiki/notes.md", text, `${text}\nApproved.\n`);
      return {
        perform: () => operations.approve_proposal.perform(app, { id }, person()),
        found: async (now) => (await now.entries.fetch("notes")).content,
      };
    },
  },
  {
    what: "the approval of a section",
    lags: true,
    old: "none",
    fresh: /^Limits$/,
    async prepare({ app }) {
      const wanted = { id: "limits", title: "Limits", mode: "log", writable_by: ["engineer"], description: "Known." };
      const { proposal_id: id } = unwrap(await createSection.perform(app, wanted, agent("engineer")));
      return {
        perform: () => operations.approve_proposal.perform(app, { id }, person()),
        found: async (now) =>
          unwrap(await now.schema()).sections.find((section) => section.id === "limits")?.title ?? "none",
      };
    },
  },
  {
    what: "a source",
    lags: true,
    old: "none",
    fresh: /^raw\n$/,
    prepare: async ({ app, file }) => ({
      perform: () => operations.add_source.perform(app, { name: "input.txt", content: "raw\n" }, person()),
      async found(now) {
        const [source] = await now.sources.list();
        const bytes = readIfThere(file("sources/input.txt"), now.config.root);
        return source && bytes ? bytes.toString() : "none";
      },
    }),
  },
  {
    what: "a revert",
    isOneTransaction: false,
    old: "bad\n",
    fresh: /^$/,
    async prepare({ app }) {
      const inRun = agent("planner", "r-bad");
      unwrap(await operations.commit_entry.perform(app, { id: "notes", content: "bad\n", version: 1 }, inRun));
      return {
        perform: () => operations.revert_run.perform(app, { run: "r-bad", confirm: true }, person()),
        found: async (now) => (await now.entries.fetch("notes")).content,
      };
    },
  },
];

const faults = thorough ? ["ENOSPC", "EIO", "EROFS", "EMFILE"] : ["ENOSPC"];

/** Each step takes a workspace of its own. */
const runs = [
  { engine: "sqlite", done: acts },
  { engine: "postgres", done: thorough ? acts : acts.slice(0, 1) },
] as const;

describe.each(runs)("M9: every step of a write fails ($engine)", ({ engine, done }) => {
  test.each(done)(
    "M9: $what is refused and never appears, or succeeds and stays",
    async ({ prepare, files, lags, isOneTransaction = true, old, fresh }) => {
      for (const code of faults) {
        let refused = 0;
        for (let step = 1; ; step++) {
          expect(step).toBeLessThan(30);
          const made = await newWorkspace({ engine, config: identity, ...(files ? { files } : {}) });
          const { perform, found } = await prepare(made);
          await made.app.recorder.drain(5000);
          expect(await found(made.app)).toBe(old);
          crashAt(`${code}@${step}`);
          const result = await perform();
          // While the disk is full, a reader sees the state that the answer claims.
          const during = await found(made.app);
          const reached = hasFailed();
          crashAt(undefined);
          const other = await made.open();
          const later = await found(other);
          if (result.ok) {
            if (!lags) expect([step, during]).toEqual([step, expect.stringMatching(fresh)]);
            expect([step, later]).toEqual([step, expect.stringMatching(fresh)]);
          } else {
            refused++;
            expect(result.problem).toMatchObject({ code: "storage", details: { reason: expect.any(String) } });
            expect([step, later]).toEqual([step, isOneTransaction ? old : during]);
            expect(await perform()).toMatchObject({ ok: true });
            expect(await found(other)).toMatch(fresh);
          }
          await other.recorder.drain(5000);
          const { findings } = unwrap(await operations.doctor.perform(other, {}, person()));
          expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
          expect(temporaryIn(made.root)).toEqual([]);
          await Promise.all([made.app.close(), other.close()]);
          if (!reached) break;
        }
        expect(refused).toBeGreaterThan(3);
      }
    },
  );
});

const temporaryIn = (root: string) =>
  readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => /\.~.*\.tmp$/.test(name));

describe("M9: a disk that refuses is a typed answer on every face", () => {
  test("M9: HTTP answers 507 and MCP an error while the disk is full, and reading goes on", async () => {
    const { root, app } = await newWorkspace();
    const { url } = await serve(root);
    const token = read(join(root, ".scriptorium/token")).trim();
    const made = unwrap(await operations.create_token.perform(app, { kind: "agent", role: "planner" }, person()));
    const { call } = await overHttp(url, made.token);
    // The first failure must meet the write below, not what the server does after its start.
    await app.trust.refresh();
    const write = (version: number) =>
      ask(url, "/api/entries/vision", { method: "PUT", token, body: { content: "new text", version } });
    crashAt("ENOSPC@1");
    const full = await write(1);
    expect([full.status, full.json()]).toEqual([
      507,
      { status: "storage", reason: "disk_full", error: expect.stringContaining("Free some space") },
    ]);
    expect((await ask(url, "/api/entries/vision", { token })).json()).toMatchObject({ version: 1, content: "" });
    expect(await call("commit_entry", { id: "vision", content: "x", version: 1 })).toMatchObject({
      status: "storage",
      reason: "disk_full",
    });
    crashAt("EIO@1");
    expect(await write(1)).toMatchObject({ status: 503 });
    crashAt(undefined);
    expect(await write(1)).toMatchObject({ status: 200 });
  });

  test("M9: a write after the workspace was closed is refused with a reason", async () => {
    const { app } = await newWorkspace();
    await app.close();
    const late = await operations.append_log.perform(app, { id: "decisions", line: "late" }, agent("engineer"));
    expect(late).toMatchObject({ problem: { code: "storage", details: { reason: "unavailable" } } });
  });

  test("M9: a database that may not grow refuses, keeps nothing, and writes again once it may", async () => {
    const { app, open } = await newWorkspace();
    const pages = (count: number) => app.db.write((tx) => sql.raw(`PRAGMA max_page_count = ${count}`).execute(tx));
    const long = `${"word ".repeat(100_000)}\n`;
    const commit = () =>
      operations.commit_entry.perform(app, { id: "vision", content: long, version: 1 }, agent("planner"));
    await pages(1);
    expect(await commit()).toMatchObject({ problem: { code: "storage", details: { reason: "disk_full" } } });
    const other = await open();
    expect(await other.entries.fetch("vision")).toMatchObject({ version: 1, content: "" });
    // Trust of passages is computed by the first read, and cannot be saved now.
    for (const read of [operations.fetch_entry, operations.get_trust] as const)
      expect(await read.perform(app, { id: "vision" }, agent("planner"))).toMatchObject({ ok: true });
    expect(await operations.inbox.perform(app, {}, person())).toMatchObject({ ok: true });
    await pages(1_000_000);
    expect(await commit()).toMatchObject({ ok: true, value: { version: 2 } });
    expect(await other.entries.fetch("vision")).toMatchObject({ version: 2, content: long });
  });

  test("M9: on a file system without space a command is refused, reading works, and nothing appears later", async ({
    skip,
  }) => {
    const disk = temporaryFolder();
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], { stdio: "ignore" });
    } catch {
      skip("this user may not mount a tmpfs");
    }
    onTestFinished(() => void execFileSync("umount", [disk]));
    const { root, app } = await newWorkspace();
    await app.close();
    const cwd = join(disk, "workspace");
    cpSync(root, cwd, { recursive: true });
    const { url } = await serveProcess(cwd);
    const token = read(join(cwd, ".scriptorium/token")).trim();
    const content = `${"word ".repeat(10_000)}\n`;
    const commit = () => ask(url, "/api/entries/vision", { method: "PUT", token, body: { content, version: 1 } });
    const fetched = async () => (await ask(url, "/api/entries/vision", { token })).json();
    fill(join(disk, "filler"));
    expect(await commit()).toMatchObject({ status: 507 });
    const byAgent = ["commit-entry", "--role", "planner", "--id", "vision", "--version", "1"];
    const refused = await scribeProcess(byAgent, { cwd, input: content });
    expect([refused.code, refused.json()]).toMatchObject([1, { status: "storage", reason: "disk_full" }]);
    expect(await fetched()).toMatchObject({ version: 1, content: "" });
    rmSync(join(disk, "filler"));
    expect(await fetched()).toMatchObject({ version: 1, content: "" });
    expect(await commit()).toMatchObject({ status: 200 });
    expect(await fetched()).toMatchObject({ version: 2, content });
    const report = (await scriptoriumProcess(["doctor", "--json"], { cwd })).json<{ findings: Finding[] }>();
    expect(report.findings.filter(({ state, area }) => state === "problem" && area === "wiki")).toEqual([]);
  });
});

/** Writes until the disk has no byte left. */
function fill(file: string): void {
  for (let size = 1 << 20; size >= 1; size >>= 4) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: "a" });
    } catch {
      // Smaller pieces fill the rest.
    }
  }
}

describe("M9: a connection to PostgreSQL that is lost during COMMIT", () => {
  test("M9: a commit that the server undid is refused, and the text never appears", async () => {
    const { app, open } = await newWorkspace({ engine: "postgres" });
    await app.db.write((tx) =>
      sql`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`.execute(tx),
    );
    await app.db.write((tx) =>
      sql`CREATE CONSTRAINT TRIGGER die AFTER INSERT ON entry_versions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION die()`.execute(tx),
    );
    const commit = () =>
      operations.commit_entry.perform(app, { id: "vision", content: "new text\n", version: 1 }, agent("planner"));
    expect(await commit()).toMatchObject({ problem: { code: "storage", details: { reason: "unavailable" } } });
    await app.db.write((tx) => sql`DROP TRIGGER die ON entry_versions`.execute(tx));
    const other = await open();
    expect(await other.entries.fetch("vision")).toMatchObject({ version: 1, content: "" });
    expect(await commit()).toMatchObject({ ok: true, value: { version: 2 } });
  });

  test("M9: a commit whose answer was lost is found to be done, and is not repeated", async () => {
    const { root, app, git } = await newWorkspace({ engine: "postgres" });
    await app.close();
    const url = new URL(/^database: (.*)$/m.exec(read(join(root, "scriptorium.yaml")))?.[1] ?? "");
    const lost = await losingAnswers(new URL(url.href));
    url.host = `127.0.0.1:${lost.port}`;
    const env = { ...testEnvironment(), SCRIPTORIUM_DATABASE_URL: url.href };
    const through = await openApp(unwrap(loadConfig(root, env)));
    onTestFinished(() => through.close());
    lost.next();
    const done = await operations.append_log.perform(through, { id: "decisions", line: "once" }, agent("engineer"));
    expect([lost.count(), done]).toMatchObject([1, { ok: true, value: { version: 2 } }]);
    expect((await through.entries.fetch("decisions")).content.match(/once/g)).toHaveLength(1);
    await through.recorder.drain(5000);
    expect(git("log", "-1", "--format=%s", "refs/scriptorium/history")).toBe("Append to decisions (version 2)");
  });
});

/** A proxy that, once asked to, drops a connection after its COMMIT was done and before the answer arrives. */
async function losingAnswers(target: URL) {
  let isArmed = false;
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let isDropping = false;
    client.on("data", (bytes) => {
      if (isArmed && /commit/i.test(bytes.toString("latin1"))) {
        isArmed = false;
        isDropping = true;
        lost++;
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => (isDropping ? client.destroy() : client.write(bytes)));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, next: () => (isArmed = true), count: () => lost };
}
