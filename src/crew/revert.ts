import * as z from "zod";
import { revertGraph } from "../graph/revert.ts";
import type { Person } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { snakeKeys } from "../kernel/wire.ts";
import { appendEvent } from "../store/events.ts";
import { withdrawHandoffs } from "../store/queries/handoffs.ts";
import { findRun } from "../store/queries/runs.ts";
import type { WriterFilter } from "../store/queries/versions.ts";
import { restores, undoOf, type Version, versionsByEntry, withdrawn } from "../wiki/revert.ts";
import type { CrewApp } from "./record/crew-app.ts";

const entryChange = z.object({
  id: z.string(),
  versions: z.array(z.int()).describe("Versions that are reverted"),
  to: z.string().describe("What it becomes"),
  version: z.int().optional().describe("The new version"),
});
const open = z.object({ what: z.string(), why: z.string() });
type EntryChange = z.infer<typeof entryChange>;
type Open = z.infer<typeof open>;

export const revertRun = operation({
  name: "revert_run",
  summary: "Revert everything that a run, task or role wrote to the entries and the graph.",
  effect: "destroys",
  touches: ["run", "entry", "node"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/revert" },
  decision: (_app: CrewApp, { confirm }) => confirm,
  input: z.object({
    run: z.string().min(1).max(200).optional().describe("Revert what was written in this run"),
    task: z.string().min(1).max(64).optional().describe("Revert only what was written for this task"),
    epoch: z.int().min(1).optional().describe("Revert only what was written under this claim"),
    role: z.string().min(1).max(100).optional().describe("Revert only what agents in this role wrote"),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    reverted: z.boolean(),
    what: z.string(),
    entries: z.array(entryChange),
    removed: z.array(z.string()).describe("Removed nodes and edges"),
    restored: z.array(z.string()).describe("Restored nodes and edges"),
    handoffs: z.int().describe("Number of withdrawn handoffs"),
    needs_person: z.array(open).describe("What others have built on; a person must decide"),
  }),
  async run(app: CrewApp, { confirm, ...wanted }, caller) {
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
    await app.files?.refresh();
    const { entries, needsPerson } = await revertEntries(app, wanted, { what, person, confirm });
    const graph = await app.db.write(async (tx) => {
      const done = await revertGraph(app, tx, wanted, person, !confirm);
      const handoffs = await withdrawHandoffs(tx, app.db.engine, wanted, app.now().toISOString(), !confirm);
      if (confirm) {
        const subject = wanted.run ? `run:${wanted.run}` : wanted.task ? `task:${wanted.task}` : `role:${wanted.role}`;
        const data = { what, entries, ...snakeKeys(done), handoffs };
        await appendEvent(tx, { at: app.now().toISOString(), actor: person.name, kind: "run-reverted", subject, data });
      }
      return { ...done, handoffs };
    });
    const { removed, restored, handoffs } = graph;
    const left = [...needsPerson, ...graph.needsPerson];
    return ok({ reverted: confirm, what, entries, removed, restored, handoffs, needs_person: left });
  },
});

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
