import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import { planEvents } from "../../store/queries/event-log.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { planFile } from "../rules/chain-file.ts";
import { type Plan, planHash } from "../rules/plan.ts";
import { planDiff } from "../rules/plan-change.ts";
import type { Run } from "../rules/run.ts";

const id = z.string().max(64).describe("Id of the run, such as run-…");
const number = z.int().min(1).max(1_000_000);

const version = z.object({
  version: z.int().describe("Counted from 1, the plan of the planner"),
  at: z.string(),
  by: z.string(),
  tasks: z.int(),
  current: z.boolean(),
});

type StoredVersion = z.infer<typeof version> & { plan: Plan };

/** Every save of a plan. The event log keeps each of them; the last one is the plan of the run. */
async function versionsOf(app: CrewApp, run: string): Promise<StoredVersion[]> {
  const events = (await planEvents(app.db.read, run)).filter(({ data }) => typeof data.plan === "object");
  return events.map(({ at, actor: by, data }, index) => {
    const plan = data.plan as Plan;
    const current = index === events.length - 1;
    return { version: index + 1, at, by, tasks: plan.tasks.length, current, plan };
  });
}

async function findVersions(app: CrewApp, id: string): Promise<Result<{ run: Run; versions: StoredVersion[] }>> {
  const run = await app.runs.find(id);
  if (!run) return noSuch(app.db.read, "run", id);
  if (!run.plan) return refuse("conflict", `run ${id} has no plan; it is ${run.state}`);
  return ok({ run, versions: await versionsOf(app, id) });
}

function pick(run: Run, versions: StoredVersion[], wanted: number): Result<StoredVersion> {
  const found = versions[wanted - 1];
  if (found) return ok(found);
  const last = versions.length;
  return refuse("not_found", `the plan of run ${run.id} has no version ${wanted}; its versions are 1 to ${last}`);
}

export const listPlanVersions = operation({
  name: "list_plan_versions",
  summary: "List every save of the plan of a run, newest first: who saved it, and when.",
  effect: "reads",
  reads: ["run"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/plan/versions" },
  input: z.object({ id }),
  output: z.object({ id: z.string(), versions: z.array(version) }),
  async run(app: CrewApp, { id }) {
    const found = await findVersions(app, id);
    if (!found.ok) return found;
    return ok({ id, versions: found.value.versions.map(({ plan: _, ...shown }) => shown).reverse() });
  },
});

export const showPlanVersion = operation({
  name: "show_plan_version",
  summary: "Read one version of the plan of a run, and its difference from another.",
  effect: "reads",
  reads: ["run"],
  callers: people,
  group: "runs",
  http: { method: "get", path: "/runs/{id}/plan/versions/{version}" },
  input: z.object({
    id,
    version: number.describe("Number of the version, from list_plan_versions"),
    against: number.optional().describe("The version to compare it with; left out, the one before it"),
  }),
  output: z.object({
    id: z.string(),
    ...version.shape,
    content: z.string().describe("The plan as its file has it"),
    against: z.int().nullable().describe("The version that it is compared with; null for the first one"),
    before: z.string().nullable().describe("The text of that version"),
    diff: z.string().describe("From `against` to this version; empty if they are the same"),
  }),
  async run(app: CrewApp, { id, version, against }) {
    const found = await findVersions(app, id);
    if (!found.ok) return found;
    const { run, versions } = found.value;
    const wanted = pick(run, versions, version);
    if (!wanted.ok) return wanted;
    const other = against === undefined && version === 1 ? undefined : pick(run, versions, against ?? version - 1);
    if (other && !other.ok) return other;
    const { plan, ...shown } = wanted.value;
    return ok({
      id,
      ...shown,
      content: planFile(run, plan),
      against: other?.value.version ?? null,
      before: other ? planFile(run, other.value.plan) : null,
      diff: other ? planDiff({ run: id, request: run.request }, other.value.plan, plan) : "",
    });
  },
});

export const restorePlanVersion = operation({
  name: "restore_plan_version",
  summary:
    "Save an earlier version of the plan of a run again, as its newest version. Tasks that are completed or in progress cannot be changed.",
  effect: "writes",
  touches: ["run", "task"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/plan/versions/{version}/restore" },
  input: z.object({ id, version: number.describe("Number of the version, from list_plan_versions") }),
  output: z.object({
    id: z.string(),
    version: z.int().describe("The new version"),
    restored: z.int(),
    plan_hash: z.string().nullable(),
    diff: z.string().describe("What changed in the plan"),
  }),
  async run(app: CrewApp, { id, version }, caller) {
    const found = await findVersions(app, id);
    if (!found.ok) return found;
    const { run, versions } = found.value;
    const wanted = pick(run, versions, version);
    if (!wanted.ok) return wanted;
    const { plan } = wanted.value;
    if (!run.plan || planHash(plan) === run.planHash)
      return refuse("conflict", `version ${version} is the same as the current plan of run ${id}`);
    // Edits in the plan's file are in no version yet: restoring would overwrite them.
    const edited = await app.runs.editedPlan(run);
    if (!edited.ok) return edited;
    if (edited.value !== undefined)
      return refuse(
        "conflict",
        `${app.runs.chainPath(id)} has edits that are not saved; save the plan first, or undo them: nothing was restored`,
      );
    const diff = planDiff({ run: id, request: run.request }, run.plan, plan);
    const adopted = await app.runs.adopt(id, plan, nameOf(caller), run.planHash ?? undefined);
    if (!adopted.ok) return adopted;
    const now = await versionsOf(app, id);
    return ok({ id, version: now.length, restored: version, plan_hash: adopted.value.run.planHash, diff });
  },
});
