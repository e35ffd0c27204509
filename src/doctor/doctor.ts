import * as z from "zod";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation, people } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { diagnose, diagnosis, findingsOf } from "./finding.ts";
import { checkAttempts, checkClock, checkDatabase, checkRows, checkTasks } from "./workspace/database.ts";
import { checkFiles, checkLinks, checkLogs, checkSources } from "./workspace/entries.ts";
import { checkHistory, checkMirror, checkRepository } from "./workspace/history.ts";
import { checkSignatures } from "./workspace/signatures.ts";

/** The workspace alone: what it needs from the machine is checked by `checkMachine`, for the person at its keyboard. */
export const doctor = operation({
  name: "doctor",
  summary: "Check the workspace: schema, files, logs, sources, history and database.",
  effect: "reads",
  reads: ["entry", "section", "source", "task"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/doctor" },
  input: z.object({}),
  output: diagnosis,
  async run(app: CrewApp) {
    const schema = await app.schema();
    const { ok: fine, problem } = findingsOf("wiki", "schema");
    const base = [
      ...(await checkRepository(app)),
      await checkHistory(app),
      ...(await checkMirror(app)),
      ...(await checkSignatures(app)),
      ...(await checkSources(app)),
      await checkDatabase(app),
      await checkRows(app),
      await checkClock(app),
      await checkTasks(app),
      await checkAttempts(app),
    ];
    if (!schema.ok) return ok(diagnose([problem(schema.problem.message), ...base]));
    await app.entries.list();
    const { sections, pipeline } = schema.value;
    return ok(
      diagnose([
        fine(
          `${sections.length} sections, ${pipeline.length === 0 ? "no pipeline" : `pipeline ${pipeline.join(" → ")}`}`,
        ),
        ...(await checkFiles(app, schema.value)),
        ...(await checkLogs(app, schema.value)),
        ...(await checkLinks(app)),
        ...base,
      ]),
    );
  },
});
