import * as z from "zod";
import { revertGraph } from "../graph/revert.ts";
import type { Person } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { snakeKeys } from "../kernel/wire.ts";
import type { Query } from "../store/database.ts";
import { crashPoint } from "../store/disk/crash.ts";
import { appendEvent } from "../store/events.ts";
import { entriesReadByOthers } from "../store/queries/contexts.ts";
import { withdrawHandoffs } from "../store/queries/handoffs.ts";
import { findRun, lockRun, tasksOfRun } from "../store/queries/runs.ts";
import type { WriterFilter } from "../store/queries/versions.ts";
import { falloutOf, overturn } from "../tasks/overturn.ts";
import { restores, undoOf, type Version, versionsByEntry, withdrawn } from "../wiki/revert.ts";
import { recordOverturn, rewriteReport } from "./overturn.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { moving } from "./record/deps.ts";
import { branchChange, type FilesTakenBack, fileModes, planFiles, revertBranches } from "./revert-branches.ts";
import { acceptedBranch } from "./rules/branches.ts";

const entryChange = z.object({
  id: z.string(),
  versions: z.array(z.int()).describe("Versions that are reverted"),
  to: z.string().describe("What it becomes"),
  version: z.int().optional().describe("The new version"),
});
const open = z.object({ what: z.string(), why: z.string() });
const taken = z.object({ id: z.string(), number: z.string(), title: z.string() });
type EntryChange = z.infer<typeof entryChange>;
type Open = z.infer<typeof open>;
type Taken = z.infer<typeof taken>;

export const revertRun = operation({
  name: "revert_run",
  summary:
    "Revert a run: entries, graph, handoffs, accepted tasks and files. Of a task or role: what it wrote to the entries and the graph.",
  effect: "destroys",
  touches: ["run", "task", "attempt", "page", "entry", "node"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/revert" },
  decision: (_app: CrewApp, { confirm }) => confirm,
  input: z.object({
    run: z.string().min(1).max(200).optional().describe("Revert what was written in this run"),
    task: z.string().min(1).max(64).optional().describe("Revert only what was written for this task"),
    epoch: z.int().min(1).optional().describe("Revert only what was written under this claim"),
    role: z.string().min(1).max(100).optional().describe("Revert only what agents in this role wrote"),
    files: z
      .enum(fileModes)
      .default("commit")
      .describe(
        "How accepted files leave your branches: by a commit, or by a branch scriptorium/revert-… for you to merge; keep changes none of your branches",
      ),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    reverted: z.boolean(),
    what: z.string(),
    entries: z.array(entryChange),
    removed: z.array(z.string()).describe("Removed nodes and edges"),
    restored: z.array(z.string()).describe("Restored nodes and edges"),
    handoffs: z.int().describe("Number of withdrawn handoffs"),
    tasks: z.array(taken).describe("Accepted tasks of the run, which are overturned"),
    branches: z.array(branchChange).describe("Branches that lose the accepted files"),
    depends: z.array(open).describe("Later commits, tasks, runs and branches that depend on it"),
    needs_person: z.array(open).describe("What others have built on; a person must decide"),
  }),
  async run(app: CrewApp, { confirm, files, ...wanted }, caller) {
    const named = Object.entries(wanted).filter(([, value]) => value !== undefined);
    if (wanted.run === undefined && wanted.task === undefined && wanted.role === undefined)
      return refuse("invalid", "run, task or role: one of them is required");
    const what = named.map(([name, value]) => `${name} ${value}`).join(", ");
    const run = wanted.run === undefined ? undefined : await findRun(app.db.read, wanted.run);
    if (confirm && run?.state === "running")
      return refuse("conflict", `run ${run.id} is still running and may write more`, {
        next: [{ operation: "cancel_run", input: { id: run.id }, to: "cancel it first" }],
      });

    const person = caller as Person;
    const whole = run && named.length === 1 ? run : undefined;
    const planned = await planFiles(app, whole, files);
    if (!planned.ok) return planned;
    if (confirm && planned.value.inTheWay) return planned.value.inTheWay;
    await app.files?.refresh();
    const { entries, needsPerson } = await revertEntries(app, wanted, { what, person, confirm });
    const rest = { wanted, what, person, confirm, run: whole?.id, files: planned.value, entries };
    const others = await takeBack(app, rest);
    if (!others.ok) return others;
    crashPoint("revert-recorded");
    const done = confirm ? await revertBranches(app, planned.value, person) : planned.value;
    if (confirm && whole && others.value.tasks.length > 0) await rewriteReport(app, whole.id);
    const { removed, restored, handoffs, tasks, dependents, commit } = others.value;
    const accepted = planned.value.accepted && acceptedBranch(planned.value.accepted.id);
    const branches = done.branches.map((one) => (one.branch === accepted ? { ...one, commit } : one));
    return ok({
      ...{ reverted: confirm, what, entries, removed, restored, handoffs, tasks, branches },
      depends: [...done.depends, ...dependents, ...(await readers(app, whole, entries))],
      needs_person: [...needsPerson, ...others.value.needsPerson, ...done.needsPerson],
    });
  },
});

type Rest = {
  wanted: WriterFilter;
  what: string;
  person: Person;
  confirm: boolean;
  /** Of a whole run: its tasks and files are reverted too. */
  run: string | undefined;
  files: FilesTakenBack;
  entries: EntryChange[];
};

/** What one transaction reverts: graph, handoffs, tasks and the accepted branch; the event tells of everything. */
async function takeBack(app: CrewApp, { wanted, what, person, confirm, run, files, entries }: Rest) {
  let done: Awaited<ReturnType<typeof revertGraph>> & { handoffs: number; tasks: Taken[]; dependents: Open[] } = {
    ...{ removed: [], restored: [], needsPerson: [], handoffs: 0, tasks: [], dependents: [] },
  };
  const act = async (tx: Query): Promise<Result<true>> => {
    if (confirm && run !== undefined && (await lockRun(tx, app.db.engine, run))?.state === "running")
      return refuse("conflict", `run ${run} was started meanwhile; cancel it first`);
    const at = app.now().toISOString();
    const graph = await revertGraph(app, tx, wanted, person, !confirm);
    const handoffs = await withdrawHandoffs(tx, app.db.engine, wanted, at, !confirm);
    const { tasks, dependents } =
      run === undefined ? { tasks: [], dependents: [] } : await takeBackTasks(app, tx, { run, person, confirm });
    done = { ...graph, handoffs, tasks, dependents };
    if (confirm) {
      const subject = wanted.run ? `run:${wanted.run}` : wanted.task ? `task:${wanted.task}` : `role:${wanted.role}`;
      const data = { what, entries, ...snakeKeys(graph), handoffs, tasks: tasks.map(({ id }) => id) };
      await appendEvent(tx, { at, actor: person.name, kind: "run-reverted", subject, data });
    }
    return ok(true);
  };
  if (confirm && files.accepted) {
    const { openTrees } = await import("./attempt/crew.ts");
    const reverted = await (await openTrees(app)).revert(files.accepted, act);
    return reverted.ok ? ok({ ...done, commit: reverted.value }) : reverted;
  }
  const acted = await app.db.write(act);
  return acted.ok ? ok({ ...done, commit: null }) : acted;
}

type TasksOf = { run: string; person: Person; confirm: boolean };

/** Overturns the accepted tasks of a run; what depends on them is stale or stops, also in other runs. */
async function takeBackTasks(
  app: CrewApp,
  tx: Query,
  { run, person: { name }, confirm }: TasksOf,
): Promise<{ tasks: Taken[]; dependents: Open[] }> {
  const deps = moving(app);
  const rows = (await tasksOfRun(tx, run)).filter(({ task }) => task.state === "completed");
  const dependents = new Map<string, Open>();
  const gone = new Set<string>();
  for (const { task } of rows) {
    if (gone.has(task.id)) continue;
    const reason = `${name} reverted run ${run}`;
    const fallout = confirm ? await overturn(tx, deps, task.id, reason, name) : await falloutOf(tx, deps, task.id);
    if (!fallout.ok) continue;
    const { stale, stopped, waiting } = fallout.value;
    if (confirm) await recordOverturn(app, tx, fallout.value, reason, name);
    for (const { id } of [...stale, ...stopped]) gone.add(id);
    for (const [others, why] of [
      [stale, "is completed with its output and becomes stale"],
      [stopped, "works with its output and is stopped"],
      [waiting, "waits for its output"],
    ] as const)
      for (const other of others)
        if (other.run !== run)
          dependents.set(other.id, {
            what: `task:${other.id}`,
            why: `${other.title}${other.run === null ? "" : ` of run ${other.run}`} ${why}`,
          });
  }
  const tasks = rows.map(({ number, task: { id, title } }) => ({ id, number, title }));
  return { tasks, dependents: [...dependents.values()] };
}

const mostReaders = 50;

/** The runs whose agents read entries that the run wrote, since it began. */
async function readers(
  app: CrewApp,
  run: { id: string; created_at: string } | undefined,
  entries: readonly EntryChange[],
): Promise<Open[]> {
  if (!run || entries.length === 0) return [];
  const found = [...(await entriesReadByOthers(app.db.read, run.id, run.created_at))].flatMap(([other, ids]) => {
    const read = entries.filter(({ id }) => ids.has(id)).map(({ id }) => id);
    return read.length === 0 ? [] : [{ what: `run:${other}`, why: `its agents have read ${read.join(", ")} since` }];
  });
  return found.slice(0, mostReaders);
}

type How = { what: string; person: Person; confirm: boolean };

/** Each entry is reverted in its own transaction, like any commit; a repeated call continues with the rest. */
async function revertEntries(
  app: CrewApp,
  wanted: WriterFilter,
  how: How,
): Promise<{ entries: EntryChange[]; needsPerson: Open[] }> {
  const entries: EntryChange[] = [];
  const needsPerson: Open[] = [];
  const schema = await app.schema();
  const modes = new Map(schema.ok ? schema.value.sections.map(({ id, mode }) => [id, mode]) : []);
  for (const [id, versions] of await versionsByEntry(app.db.read, wanted)) {
    const mode = modes.get(id);
    if (mode === undefined) {
      needsPerson.push({ what: `entry:${id}`, why: "its section is no longer in schema.yaml" });
      continue;
    }
    const text = await (mode === "log" ? logText : snapshotText)(app, id, versions, wanted, how);
    if (!text) continue;
    if ("why" in text) needsPerson.push({ what: `entry:${id}`, why: text.why });
    else if (!how.confirm) entries.push({ id, versions: text.versions, to: text.to });
    else {
      const { name, email } = how.person;
      const by = { name, ...(email ? { email } : {}), reverts: { what: how.what, to: text.to } };
      const saved = await app.entries.commit(id, text.body, text.from, by);
      if (saved.ok) entries.push({ id, versions: text.versions, to: text.to, version: saved.value.version });
      else needsPerson.push({ what: `entry:${id}`, why: saved.problem.message });
    }
  }
  return { entries, needsPerson };
}

type Text = { body: string; from: number; versions: number[]; to: string } | { why: string } | undefined;

async function snapshotText(app: CrewApp, id: string, versions: Version[], wanted: WriterFilter): Promise<Text> {
  const undo = undoOf(versions, wanted);
  if (!undo) return undefined;
  if ("changedBy" in undo)
    return { why: `versions ${undo.versions.join(", ")}, changed since by ${undo.changedBy.join(", ")}` };
  const body = await app.entries.contentAt(id, undo.to);
  if (body === undefined) return { why: `the text of version ${undo.to} is no longer in git` };
  return { body, from: versions.at(-1)?.version ?? 0, versions: undo.versions, to: restores(undo.to) };
}

async function logText(
  app: CrewApp,
  id: string,
  versions: Version[],
  wanted: WriterFilter,
  { person }: How,
): Promise<Text> {
  const { content, version } = await app.entries.fetch(id);
  const given = { body: content, versions, wanted, by: person.name };
  const { body, versions: gone } = await withdrawn(app.entries, id, given);
  if (gone.length === 0) return undefined;
  return {
    body,
    from: version,
    versions: gone,
    to: `${gone.length === 1 ? "one line" : `${gone.length} lines`} withdrawn`,
  };
}
