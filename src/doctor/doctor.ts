import { readdir, readFile, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation, people } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { isTemporary, sweepTemporary } from "../store/disk/disk.ts";
import { contradictoryAttempts } from "../store/queries/attempts.ts";
import { taskEvents } from "../store/queries/event-log.ts";
import { countUnrecorded } from "../store/queries/git-queue.ts";
import { damagedRows, databaseReport } from "../store/queries/health.ts";
import { linksToNowhere } from "../store/queries/links.ts";
import { replayTasks } from "../tasks/replay.ts";
import { keepsLog } from "../wiki/log.ts";
import { isRevert } from "../wiki/revert.ts";
import type { Schema } from "../wiki/schema.ts";
import { parseDocument, readFront } from "../wiki/stores/document.ts";
import { mirrorBranch } from "../wiki/stores/mirror.ts";

const finding = z.object({
  check: z.string(),
  level: z.enum(["ok", "warning", "problem"]),
  message: z.string(),
  fix: z.string().optional(),
});
type Finding = z.infer<typeof finding>;

export const doctor = operation({
  name: "doctor",
  summary: "Check the workspace: schema, files, logs, sources, history and database.",
  effect: "reads",
  reads: ["entry", "section", "source", "task"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/doctor" },
  input: z.object({}),
  output: z.object({ healthy: z.boolean(), findings: z.array(finding) }),
  async run(app: CrewApp) {
    const schema = await app.schema();
    const base = [
      await checkDatabase(app),
      await checkTasks(app),
      await checkAttempts(app),
      await checkRows(app),
      await checkHistory(app),
      ...(await checkMirror(app)),
      ...(await checkSources(app)),
    ];
    if (!schema.ok) {
      const findings: Finding[] = [{ check: "schema", level: "problem", message: schema.problem.message }, ...base];
      return ok({ healthy: false, findings });
    }
    await app.entries.list();
    const sections = schema.value.sections.length;
    const findings: Finding[] = [
      {
        check: "schema",
        level: "ok",
        message: `${sections} sections, pipeline ${schema.value.pipeline.join(" → ") || "none"}`,
      },
      ...(await checkFiles(app, schema.value)),
      ...(await checkLogs(app, schema.value)),
      ...(await checkLinks(app)),
      ...base,
    ];
    return ok({ healthy: findings.every((f) => f.level !== "problem"), findings });
  },
});

export const status = operation({
  name: "status",
  summary: "Show the contents of the workspace and what waits for a decision.",
  effect: "reads",
  reads: ["entry", "source", "proposal"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/status" },
  input: z.object({}),
  output: z.object({
    name: z.string(),
    root: z.string(),
    store: z.string(),
    database: z.string(),
    entries: z.int(),
    written: z.int(),
    sources: z.int(),
    open_proposals: z.int(),
    unrecorded: z.int().describe("Versions that are not in git yet"),
  }),
  async run(app: CrewApp) {
    const entries = await app.entries.list();
    const [sources, proposals] = await Promise.all([app.sources.list(), app.proposals.list("open")]);
    return ok({
      name: app.config.name,
      root: app.config.root,
      store: app.config.store,
      database: app.db.engine,
      entries: entries.length,
      written: entries.filter((entry) => entry.wordCount > 0).length,
      sources: sources.length,
      open_proposals: proposals.length,
      unrecorded: await countUnrecorded(app.db.read),
    });
  },
});

async function checkDatabase(app: CrewApp): Promise<Finding> {
  const said = await databaseReport[app.db.engine](app.db.read);
  if (app.db.engine === "postgres") return { check: "database", level: "ok", message: said };
  if (said === "ok") return { check: "database", level: "ok", message: "SQLite, intact" };
  const fix = "stop Scriptorium, move .scriptorium/scriptorium.db away and start again: the index is rebuilt from git";
  return { check: "database", level: "problem", message: said, fix };
}

/** Replaying the event log must yield the rows of all tasks. */
async function checkTasks(app: CrewApp): Promise<Finding> {
  const check = "tasks";
  try {
    const told = replayTasks(await taskEvents(app.db.read));
    const rows = await app.tasks.list({ limit: Number.MAX_SAFE_INTEGER });
    const differing = rows.filter(({ num: _, claimedAt: __, leaseUntil: ___, ...task }) => {
      return !isDeepStrictEqual(told.get(task.id), task);
    });
    if (differing.length === 0) return { check, level: "ok", message: `${rows.length}, as their events tell` };
    const ids = differing.slice(0, 5).map((task) => task.id);
    return { check, level: "problem", message: `not as their events tell: ${ids.join(", ")}` };
  } catch (error) {
    return { check, level: "problem", message: (error as Error).message };
  }
}

/** `tasks` and `attempts` both say how far a task is; see `crew/record/attempts.ts`. */
async function checkAttempts({ db }: CrewApp): Promise<Finding> {
  const check = "attempts";
  const found = await contradictoryAttempts(db.read);
  if (found.length === 0) return { check, level: "ok", message: "attempts agree with their tasks" };
  const named = found.slice(0, 5).map(({ task, state, phase }) => `${task} is ${state}, its attempt ${phase}`);
  return { check, level: "problem", message: `attempts disagree with their tasks: ${named.join("; ")}` };
}

async function checkRows({ db }: CrewApp): Promise<Finding> {
  const damaged = await damagedRows(db.read);
  if (damaged.length === 0) return { check: "rows", level: "ok", message: "all can be read" };
  return {
    check: "rows",
    level: "problem",
    message: `cannot be read: ${damaged.slice(0, 5).join(", ")}`,
    fix: "bring back a copy of the database",
  };
}
async function checkHistory(app: CrewApp): Promise<Finding> {
  const { waits } = await app.recorder.record();
  const count = await countUnrecorded(app.db.read);
  if (waits) return { check: "history", level: "warning", message: `commits to the branch wait: ${waits}` };
  if (count > 0) return { check: "history", level: "warning", message: `${count} versions wait to be recorded in git` };
  return { check: "history", level: "ok", message: "every version is in git" };
}

/** The reason why the mirror branch of the database store is behind, if any. */
async function checkMirror(app: CrewApp): Promise<Finding[]> {
  if (!app.mirror) return [];
  let outcome = await app.mirror.record();
  while (outcome.more) outcome = await app.mirror.record();
  const message = outcome.waits
    ? `the branch ${mirrorBranch} stays behind the database: ${outcome.waits}`
    : `every version is on the branch ${mirrorBranch}`;
  return [{ check: "mirror", level: outcome.waits ? "warning" : "ok", message }];
}

async function checkSources(app: CrewApp): Promise<Finding[]> {
  const report = await app.sources.verify();
  const folder = app.config.sources;
  const restore = (path: string) => `git checkout refs/scriptorium/history -- ${folder}/${path}`;
  const found: Finding[] = [
    ...report.changed.map(({ path }): Finding => {
      return {
        check: "sources",
        level: "problem",
        message: `${path} was changed since it was added`,
        fix: restore(path),
      };
    }),
    ...report.missing.map(({ path }): Finding => {
      return { check: "sources", level: "problem", message: `${path} was removed`, fix: restore(path) };
    }),
    ...report.unknown.map((path): Finding => {
      const fix = `scriptorium source add ${folder}/${path} --name ${path}`;
      return { check: "sources", level: "warning", message: `${path} lies in ${folder}/ but was never added`, fix };
    }),
  ];
  return found.length > 0
    ? found
    : [{ check: "sources", level: "ok", message: `${report.intact} of ${report.intact} unchanged` }];
}

async function checkFiles(app: CrewApp, schema: Schema): Promise<Finding[]> {
  const { files, config } = app;
  if (!files) return [];
  const folder = join(config.root, config.wiki);
  const swept = await sweepTemporary(folder, 60_000);
  const found: Finding[] = [];
  if (swept > 0)
    found.push({ check: "files", level: "ok", message: `removed ${swept} temporary files that a crash had left` });

  for (const { id } of schema.sections) {
    const bytes = await readFile(files.fileOf(id)).catch(() => undefined);
    const complaint = bytes && readFront(parseDocument(bytes), `${config.wiki}/${id}.md`).complaint;
    if (complaint)
      found.push({
        check: "files",
        level: "warning",
        message: complaint,
        fix: "mend the frontmatter; it is kept but not used",
      });
    if (!bytes)
      found.push({
        check: "files",
        level: "warning",
        message: `${config.wiki}/${id}.md is missing`,
        fix: "it comes back with the next commit",
      });
  }
  const known = new Set(schema.sections.map((section) => `${section.id}.md`));
  const names = await readdir(folder, { recursive: true });
  for (const name of names.map((n) => n.split(sep).join("/"))) {
    if (!name.endsWith(".md") || known.has(name) || isTemporary(name)) continue;
    if (!(await stat(join(folder, name))).isFile()) continue;
    const fix = `add a section ${name.slice(0, -3)} to ${config.wiki}/schema.yaml`;
    found.push({ check: "files", level: "warning", message: `${config.wiki}/${name} belongs to no section`, fix });
  }
  return found.some((f) => f.level !== "ok")
    ? found
    : [...found, { check: "files", level: "ok", message: "every entry is readable" }];
}

const mostShown = 20;

/** Links in the index must equal those in the texts; links to missing targets are warnings. */
async function checkLinks(app: CrewApp): Promise<Finding[]> {
  const mended = await app.links.mend();
  const broken = await linksToNowhere(app.db, undefined, mostShown + 1);
  const found: Finding[] = [
    ...mended.map((id): Finding => {
      const message = `the graph did not have the links that ${id} has; it was read again`;
      return { check: "links", level: "warning", message };
    }),
    ...broken.slice(0, mostShown).map(({ from, to }): Finding => {
      const message = `${from.slice("entry:".length)} links to ${to}, which is not there`;
      return { check: "links", level: "warning", message, fix: "write it, or mend the link" };
    }),
    ...(broken.length > mostShown
      ? [{ check: "links", level: "warning" as const, message: `more links than these ${mostShown} lead nowhere` }]
      : []),
  ];
  return found.length > 0 ? found : [{ check: "links", level: "ok", message: "every link leads somewhere" }];
}

/** Finds logs that were rewritten: only a person's edit can do that, so only those versions are compared. */
async function checkLogs(app: CrewApp, schema: Schema): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { id } of schema.sections.filter((section) => section.mode === "log")) {
    const versions = await app.entries.history(id, 100_000);
    const byHand = versions.filter((v) => v.role === null && v.version > 1 && !isRevert(v.summary));
    for (const { version, author, at } of byHand) {
      const [before, after] = await Promise.all([
        app.entries.contentAt(id, version - 1),
        app.entries.contentAt(id, version),
      ]);
      if (before === undefined || after === undefined || keepsLog(before, after)) continue;
      const message = `${id} is a log, and ${author} rewrote earlier lines in version ${version} (${at})`;
      found.push({
        check: "logs",
        level: "problem",
        message,
        fix: `scriptorium entry read ${id} --version ${version - 1}`,
      });
    }
  }
  return found.length > 0 ? found : [{ check: "logs", level: "ok", message: "no log was rewritten" }];
}
