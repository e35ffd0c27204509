import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { doctor } from "../src/doctor/doctor.ts";
import { ok, type Result, unwrap } from "../src/kernel/result.ts";
import { approveProposal } from "../src/review/proposals/operations.ts";
import { createSection } from "../src/review/proposals/section-operations.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { addSource } from "../src/wiki/sources/operations.ts";
import { type Ran, scribeProcess, scriptoriumProcess } from "./support/commands.ts";
import { thorough } from "./support/thorough.ts";
import {
  agent,
  databaseForCopy,
  freshDatabase,
  gitIn,
  newWorkspace,
  person,
  read,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

type App = Awaited<ReturnType<typeof openApp>>;

type Act = {
  what: string;
  /** In a process of its own, which is killed on the way. */
  run(cwd: string, env: Record<string, string>): Promise<Ran>;
  /** The same once more, by whoever starts after it. */
  again(app: App): Promise<Result<unknown>>;
  /** The entry it changes, what is in the file before and after, and who must stand as its author. */
  entry?: { id: string; old: string; fresh: RegExp; author: string };
};

const acts: Act[] = [
  {
    what: "a commit",
    run: (cwd, env) => commit(cwd, env, "vision", "new text\n"),
    again: (app) => app.knowledge(agent("planner")).commitEntry("vision", "new text\n", 2),
    entry: { id: "vision", old: "old text\n", fresh: /^new text\n$/, author: "planner" },
  },
  {
    what: "an append",
    run: (cwd, env) =>
      scribeProcess(["append-log", "--role", "engineer", "--id", "decisions", "--line", "appended"], { cwd, env }),
    again: (app) => app.knowledge(agent("engineer")).appendLog("decisions", "appended"),
    entry: { id: "decisions", old: "", fresh: /^- \S+ engineer: appended\n$/, author: "engineer" },
  },
  {
    what: "an agent's commit over a person's edit that nobody has seen",
    run(cwd, env) {
      writeFileSync(join(cwd, "wiki/notes.md"), "---\ntitle: Notes\n---\n\nby hand\n");
      return commit(cwd, env, "notes", "by agent\n");
    },
    again: (app) => app.knowledge(agent("planner")).commitEntry("notes", "by agent\n", 2),
    entry: { id: "notes", old: "by hand\n", fresh: /^by agent\n$/, author: "planner" },
  },
  {
    what: "a source",
    run(cwd, env) {
      writeFileSync(join(cwd, "input.txt"), "raw input\n");
      return scriptoriumProcess(["source", "add", "input.txt"], { cwd, env });
    },
    again: (app) => addSource.perform(app, { name: "input.txt", content: "raw input\n" }, person()),
  },
  {
    what: "the approval of a section",
    run: (cwd, env) =>
      scriptoriumProcess(["proposal", "approve", read(join(cwd, ".scriptorium/proposed"))], { cwd, env }),
    async again(app) {
      const id = read(join(app.config.stateFolder, "proposed"));
      const approved = await approveProposal.perform(app, { id }, person());
      return !approved.ok && approved.problem.message.includes("was approved by") ? ok(true) : approved;
    },
  },
];

const commit = (cwd: string, env: Record<string, string>, id: string, input: string) =>
  scribeProcess(["commit-entry", "--role", "planner", "--id", id, "--version", "2"], { cwd, env, input });

/** Each kill takes a second and there are well over a hundred. */
const stride = thorough ? 1 : 5;

describe.each([
  { engine: "sqlite", done: acts },
  { engine: "postgres", done: acts.slice(0, 2) },
])("C1, C4, C6: killed at one step after another ($engine)", ({ engine, done }) => {
  test.each(done)(
    "$what leaves the old or the new, git whole, and a start that needs nobody",
    async ({ run, again, entry }) => {
      const base = await prepared();
      const template = engine === "postgres" ? await indexed(base) : undefined;
      let survived = false;
      let kills = 0;
      for (let step = 1; !survived; step += stride) {
        expect(step).toBeLessThan(60);
        const cwd = join(temporaryFolder(), "workspace");
        cpSync(base, cwd, { recursive: true });
        const env: Record<string, string> = template
          ? { SCRIPTORIUM_DATABASE_URL: await databaseForCopy(template) }
          : {};
        const ran = await run(cwd, { ...env, SCRIPTORIUM_CRASH_AT: String(step) });
        survived = ran.signal === null;
        if (survived) expect(ran).toMatchObject({ code: 0 });
        else kills++;

        const file = entry && read(join(cwd, `wiki/${entry.id}.md`)).split("---\n\n")[1];
        if (entry && file !== undefined && file !== entry.old) expect(file).toMatch(entry.fresh);
        const app = await openApp(unwrap(loadConfig(cwd, { ...testEnvironment(), ...env })));
        try {
          if (entry) {
            const now = await app.entries.fetch(entry.id);
            const [latest] = await app.entries.history(entry.id);
            if (now.content !== entry.old) expect(latest).toMatchObject({ author: entry.author, role: entry.author });
            expect(latest?.version).toBe(now.version);
          }
          const repeated = await again(app);
          if (!entry) expect(repeated).toMatchObject({ ok: true });
          await app.recorder.drain(5000);
          const report = unwrap(await doctor.perform(app, {}, person()));
          expect(report.findings.filter((f) => f.state === "problem")).toEqual([]);
          await checkHistory(app, cwd);
        } finally {
          await app.close();
        }
        const git = gitIn(cwd);
        git("fsck", "--strict");
        expect(git("diff", "--cached", "--name-only")).toBe("");
      }
      expect(kills).toBeGreaterThan(8 / stride);
    },
  );
});

/** Versions are 1, 2, 3…, each once; git's history has each of those written since it began. */
async function checkHistory(app: App, cwd: string) {
  const format = "--format=%(trailers:key=Entry,valueonly,separator=%x20) %(trailers:key=Version,valueonly,separator=)";
  const said = gitIn(cwd)("log", "--reverse", format, historyRef).split("\n");
  for (const { id } of await app.entries.list()) {
    const versions = (await app.entries.history(id)).map((v) => v.version).reverse();
    expect(versions).toEqual(versions.map((_, i) => i + 1));
    const recorded = said.filter((line) => line.startsWith(`${id} `)).map((line) => Number(line.slice(id.length + 1)));
    expect(recorded).toEqual(versions.slice(versions.length - recorded.length));
  }
}

/** The name of a database that knows this workspace, to be copied. */
async function indexed(base: string): Promise<string> {
  const url = await freshDatabase();
  for (const name of ["scriptorium.db", "book.json"]) rmSync(join(base, ".scriptorium", name), { force: true });
  expect(
    await scriptoriumProcess(["entry", "list"], { cwd: base, env: { SCRIPTORIUM_DATABASE_URL: url } }),
  ).toMatchObject({
    code: 0,
  });
  return url.split("/").at(-1) ?? "";
}

async function prepared(): Promise<string> {
  const { app, root } = await newWorkspace();
  unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "old text\n", 1));
  writeFileSync(join(root, ".scriptorium/proposed"), await propose(app));
  await app.close();
  writeFileSync(join(root, "scriptorium.yaml"), "name: Test\n");
  return root;
}

async function propose(app: App): Promise<string> {
  const wanted = {
    id: "limits",
    title: "Limits",
    mode: "log",
    writable_by: ["engineer"],
    description: "What we ran into.",
  };
  return unwrap(await createSection.perform(app, wanted, agent("engineer"))).proposal_id;
}
