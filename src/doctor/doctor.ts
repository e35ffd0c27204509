import * as z from "zod";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation, people } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { acknowledgedFindings } from "../store/queries/acknowledged.ts";
import { diagnose, diagnosis, type Finding, findingsOf } from "./finding.ts";
import { checkRecord, type Progress } from "./workspace/check-record.ts";
import { checkConfig } from "./workspace/config.ts";
import { checkAttempts, checkClock, checkDatabase, checkRows, checkTasks } from "./workspace/database.ts";
import { checkFiles } from "./workspace/files.ts";
import { checkMirror } from "./workspace/mirror.ts";
import { checkReferences } from "./workspace/references.ts";
import { checkQueue, checkRepository } from "./workspace/repository.ts";
import { checkServer } from "./workspace/server.ts";
import { checkSignatures } from "./workspace/signatures.ts";
import { checkLinks, checkSources } from "./workspace/sources-and-links.ts";

/** The workspace alone: what it needs from the machine is checked by `checkMachine`, for the person at its keyboard. */
export const doctor = operation({
  name: "doctor",
  summary: "Check the workspace: schema, files, index, history, events, sources and database.",
  effect: "reads",
  reads: ["entry", "section", "source", "task"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/doctor" },
  input: z.object({}),
  output: diagnosis,
  run: async (app: CrewApp) => ok(diagnose(await examine(app))),
});

/** Every finding about the workspace. `progress` is called before each long step. */
export async function examine(app: CrewApp, progress: Progress = () => undefined): Promise<Finding[]> {
  const found = await runChecks(app, progress);
  const known = new Map((await acknowledgedFindings(app.db.read)).map((row) => [row.id, row]));
  return found.map((one) => {
    const row = known.get(one.id);
    return row ? { ...one, acknowledged: { by: row.by_name, at: row.at, note: row.note } } : one;
  });
}

async function runChecks(app: CrewApp, progress: Progress): Promise<Finding[]> {
  const schema = await app.schema();
  const { ok: fine, problem } = findingsOf("wiki", "schema");
  const repository = await checkRepository(app);
  const hasRepository = repository.every(({ kind }) => kind !== "repository-missing");
  const edits = schema.ok && hasRepository ? await recordEdits(app) : [];
  const queue = hasRepository ? await checkQueue(app) : [];
  const record = await checkRecord(app, progress);
  progress("checking files, sources and the database");
  const base = [
    ...checkConfig(app),
    ...repository,
    ...edits,
    ...queue,
    ...record,
    ...(await checkMirror(app)),
    ...(hasRepository ? await checkSignatures(app) : []),
    ...(await checkSources(app)),
    ...(hasRepository ? await checkReferences(app) : []),
    await checkDatabase(app),
    ...(await checkServer(app)),
    await checkRows(app),
    await checkClock(app),
    await checkTasks(app),
    await checkAttempts(app),
  ];
  if (!schema.ok) return [problem(schema.problem.message, undefined, { kind: "schema-invalid" }), ...base];
  const warning = app.schemaWarning();
  const { sections, pipeline } = schema.value;
  const roles = pipeline.length === 0 ? "no pipeline" : `pipeline ${pipeline.join(" → ")}`;
  return [
    warning
      ? problem(warning, `correct ${app.config.wiki}/schema.yaml`, { kind: "schema-not-in-force" })
      : fine(`${sections.length} sections, ${roles}`),
    ...(await checkFiles(app, schema.value)),
    ...(await checkLinks(app)),
    ...base,
  ];
}

/** Makes versions of edits to files; a damaged index may not allow it. */
async function recordEdits(app: CrewApp): Promise<Finding[]> {
  const { problem } = findingsOf("wiki", "edits");
  const failed = await app.entries.list().then(
    () => undefined,
    (error: Error) => error,
  );
  if (!failed) return [];
  const about = { kind: "edits-not-recorded" };
  return [problem(`edits to files cannot be recorded: ${failed.message}`, "scriptorium doctor --fix", about)];
}
