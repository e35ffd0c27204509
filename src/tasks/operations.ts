import * as z from "zod";
import { claimFor, nameOf } from "../kernel/caller.ts";
import { collaborators, everyone, operation, writers } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { recordingRefused } from "../store/fence.ts";
import { noSuch } from "../store/no-such.ts";
import { reopen } from "./overturn.ts";
import { isOver, shownState, shownStates, states, type Task } from "./task.ts";
import type { TasksApp } from "./tasks-app.ts";
import type { Step } from "./transition.ts";

const id = z.string().max(64).describe("Id of the task");
const epoch = z.int().min(1).optional().describe("The epoch from lock_todo; required while you hold the task");
const secret = z
  .string()
  .max(200)
  .optional()
  .describe("The secret from lock_todo; required with epoch, unless this MCP session made the claim");
const title = z.string().trim().min(1, "a task needs a title").max(300).describe("What to do, in one line");
const description = z.string().max(20_000).describe("When it is done, and what to look at");
const agentId = z.string().trim().min(1).max(200);
const priority = z.int().min(-1000).max(1000).describe("Higher is claimed first");

const line = z.object({
  id: z.string(),
  title: z.string(),
  state: z.enum(shownStates),
  priority: z.int(),
  run: z.string().optional(),
  attempt: z.int().optional(),
  holder: z.string().optional(),
  waits_for: z.int().optional().describe("Number of dependencies that are not completed"),
});

export const createTodo = operation({
  name: "create_todo",
  summary: "Create a task that someone can claim.",
  guidance:
    "Use it for work that someone else or a later session does; not for what you do now. It can be claimed when every task in depends_on is completed. " +
    'Example: {"title": "Add retry to the mailer", "description": "Done when test/mailer passes", "depends_on": ["task-01"]}',
  effect: "writes",
  touches: ["task"],
  callers: writers,
  group: "tasks",
  http: { method: "post", path: "/tasks" },
  input: z.object({
    title,
    description: description.default(""),
    depends_on: z.array(id).max(200).default([]).describe("Ids of tasks that must be completed first"),
    priority: priority.default(0),
  }),
  output: z.object({ id: z.string(), state: z.string() }),
  async run(app: TasksApp, input, caller) {
    const { depends_on: dependsOn, ...words } = input;
    const made = await app.tasks.create({ ...words, dependsOn, run: null, maxRetries: 2 }, nameOf(caller));
    return made.ok ? ok({ id: made.value.id, state: shownState(made.value) }) : made;
  },
});

export const listTodos = operation({
  name: "list_todos",
  summary: "List tasks with their states, oldest first.",
  guidance:
    "Use it to find open work and who holds it. get_task_context has the details of one task. Pass `cursor` to get the next page.",
  effect: "reads",
  reads: ["task", "run"],
  callers: everyone,
  group: "tasks",
  http: { method: "get", path: "/tasks" },
  input: z.object({
    state: z.enum(states).optional().describe("Only tasks in this state"),
    run: z.string().max(64).optional().describe("Only tasks of this run"),
    limit: z.int().min(1).max(200).default(30).describe("Maximum number of tasks"),
    cursor: z
      .string()
      .regex(/^\d{1,15}$/, "expected the cursor of an earlier answer")
      .optional()
      .describe("Cursor of the previous answer, for the next page"),
  }),
  output: z.object({ todos: z.array(line), cursor: z.string().optional() }),
  async run(app: TasksApp, { state, run, limit, cursor }) {
    const after = cursor === undefined ? 0 : Number(cursor);
    const rows = await app.tasks.list({ limit, after, ...(state ? { state } : {}), ...(run ? { run } : {}) });
    const last = rows.length === limit ? rows.at(-1) : undefined;
    return ok({ todos: rows.map(brief), ...(last ? { cursor: String(last.num) } : {}) });
  },
});

export const lockTodo = operation({
  name: "lock_todo",
  summary: "Claim a task, so that nobody else works on it.",
  guidance:
    "Call it before you start work on a task. `locked`: it is yours until expires_at; keep epoch and secret, every write to the task needs both. " +
    "The secret is shown once; do not save it in entries or outputs. " +
    "`held`: someone else holds it; choose another task. Call it again with your epoch and secret to extend the lease.",
  effect: "writes",
  touches: ["task"],
  callers: writers,
  group: "tasks",
  http: { method: "post", path: "/tasks/{id}/lock" },
  input: z
    .object({
      id,
      agent_id: agentId.optional().describe("Your name, shown as the holder"),
      agentId: agentId.optional().describe("Old name of agent_id"),
      epoch,
      secret,
      lease_seconds: z
        .number()
        .min(1)
        .max(86_400)
        .optional()
        .describe("Lease duration in seconds; renewed by lock_todo with epoch and secret"),
    })
    .refine(({ agent_id, agentId }) => (agent_id ?? agentId) !== undefined, {
      path: ["agent_id"],
      error: "missing; expected your name",
    }),
  output: z.union([
    z.object({
      status: z.literal("locked"),
      epoch: z.int(),
      secret: z.string().optional().describe("Proves that the claim is yours; only in the answer that made the claim"),
      expires_at: z.string(),
    }),
    z.object({
      status: z.literal("held"),
      holder: z.string(),
      since: z.string(),
      until: z.string(),
      alive: z.boolean(),
    }),
  ]),
  async run(app: TasksApp, { id, agent_id, agentId, epoch, secret, lease_seconds }, caller) {
    const ms = lease_seconds === undefined ? undefined : lease_seconds * 1000;
    if (epoch !== undefined) {
      const claim = claimFor(caller, id, { epoch, secret });
      const claimant = { name: nameOf(caller), task: id, epoch };
      const renewed = await recordingRefused(app, claimant, "renew", () => app.tasks.renew(id, claim, ms));
      return renewed.ok ? ok({ status: "locked" as const, epoch, expires_at: renewed.value.expiresAt }) : renewed;
    }
    const locked = await app.tasks.lock(id, agent_id ?? agentId ?? "", ms);
    if (!locked.ok) return locked;
    if (!("epoch" in locked.value)) return ok({ status: "held" as const, ...locked.value });
    const { value: claim } = locked;
    return ok({
      status: "locked" as const,
      epoch: claim.epoch,
      secret: claim.secret,
      expires_at: claim.expiresAt,
    });
  },
});

export const unlockTodo = operation({
  name: "unlock_todo",
  summary: "Release a task that you hold and will not finish.",
  guidance:
    "Others can claim it at once instead of waiting for your lease to expire. It does not count as an attempt. To finish a task use update_todo.",
  effect: "writes",
  touches: ["task"],
  callers: writers,
  group: "tasks",
  http: { method: "post", path: "/tasks/{id}/unlock" },
  input: z.object({ id, epoch: z.int().min(1).describe("The epoch from lock_todo"), secret }),
  output: z.object({ id: z.string(), state: z.string() }),
  async run(app: TasksApp, { id, ...said }, caller) {
    const released = await app.tasks.release(id, nameOf(caller), claimFor(caller, id, said));
    return released.ok ? ok({ id, state: shownState(released.value.task) }) : released;
  },
});

export const releaseTask = operation({
  name: "release_task",
  summary: "Break a claim: take a task away from its holder.",
  effect: "destroys",
  touches: ["task"],
  callers: collaborators,
  group: "tasks",
  http: { method: "post", path: "/tasks/{id}/release" },
  decision: true,
  input: z.object({ id }),
  output: z.object({
    id: z.string(),
    state: z.string(),
    from: z.object({ holder: z.string(), since: z.string(), until: z.string(), alive: z.boolean() }).nullable(),
  }),
  async run(app: TasksApp, { id }, caller) {
    const released = await app.tasks.release(id, nameOf(caller), { force: true });
    return released.ok ? ok({ id, state: shownState(released.value.task), from: released.value.from }) : released;
  },
});

export const limitRun = operation({
  name: "limit_run",
  summary: "Limit how many tasks of a run are worked on at once.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "put", path: "/runs/{run}/limit" },
  input: z.object({
    run: z.string().min(1).max(64).describe("The run"),
    most: z.int().min(1).max(10_000).nullable().describe("Maximum number of tasks; null removes the limit"),
  }),
  output: z.object({ run: z.string(), most: z.int().nullable() }),
  async run(app: TasksApp, { run, most }, caller) {
    await app.tasks.limit(run, most, nameOf(caller));
    return ok({ run, most });
  },
});

export const updateTodo = operation({
  name: "update_todo",
  summary: "Complete a task that you hold, or edit its title, description or priority.",
  guidance:
    "To complete: status `completed` with `output` and your epoch and secret. A task of a run is `submitted` instead, and verified before it counts. " +
    'Example: {"id": "task-01", "epoch": 1, "secret": "<from lock_todo>", "status": "completed", "output": "Added retry; npm test passes"}',
  effect: "writes",
  touches: ["task"],
  callers: writers,
  group: "tasks",
  http: { method: "put", path: "/tasks/{id}" },
  input: z.object({
    id,
    epoch,
    secret,
    title: title.optional(),
    description: description.optional(),
    priority: priority.optional(),
    status: z
      .enum(["completed", "submitted", "cancelled", "reopened"])
      .optional()
      .describe(
        "The new status; only people can set cancelled and reopened. reopened also reopens stale tasks that depend on it",
      ),
    output: z.string().max(200_000).default("").describe("What was done, with evidence; for cancelled, the reason"),
  }),
  output: z.object({
    id: z.string(),
    state: z.string(),
    reopened: z.array(z.string()).optional().describe("Stale tasks that were reopened with it"),
  }),
  async run(app: TasksApp, { id, epoch, secret, status, output, ...words }, caller) {
    const actor = nameOf(caller);
    const claim = claimFor(caller, id, { epoch, secret });
    const change = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
    if (status === undefined && Object.keys(change).length === 0)
      return refuse("invalid", "nothing to change: send status, title, description or priority");
    // Only people cancel and retry tasks.
    if (caller.kind === "agent" && (status === "cancelled" || status === "reopened")) {
      return refuse("denied", `only a person may set a task to ${status}`);
    }
    let task: Result<Task> | undefined;
    if (Object.keys(change).length > 0) task = await app.tasks.edit(id, change, actor, claim);
    if (task && !task.ok) return task;
    if (status === "reopened") {
      const opened = await app.db.write((tx) => reopen(tx, { engine: app.db.engine, now: app.now }, id, actor));
      if (!opened.ok) return opened;
      const also = opened.value.also.map((other) => other.id);
      return ok({ id, state: shownState(opened.value.task), ...(also.length > 0 ? { reopened: also } : {}) });
    }
    if (status === "cancelled" && epoch === undefined) task = await app.tasks.cancel(id, output || "cancelled", actor);
    else if (status !== undefined) task = await app.tasks.step(id, stepFor(status, output), actor, claim);
    if (!task) return refuse("invalid", "nothing to change");
    return task.ok ? ok({ id, state: shownState(task.value) }) : task;
  },
});

function stepFor(status: "completed" | "submitted" | "cancelled", output: string): Step {
  switch (status) {
    case "completed":
      return { type: "finish", output };
    case "submitted":
      return { type: "submit", output };
    case "cancelled":
      return { type: "cancel", reason: output || "cancelled" };
  }
}

export const getTaskContext = operation({
  name: "get_task_context",
  summary: "Read one task: description, dependencies and their outputs.",
  guidance:
    "Read it before you start on a task. Outputs of dependencies are truncated; blocked_by lists failed tasks that block it.",
  effect: "reads",
  reads: ["task", "run", "attempt", "question"],
  callers: everyone,
  group: "tasks",
  http: { method: "get", path: "/tasks/{id}" },
  input: z.object({ id }),
  output: line.extend({
    description: z.string(),
    epoch: z.int().describe("Number of the last claim"),
    result: z.record(z.string(), z.unknown()),
    dependencies: z.array(
      z.object({ id: z.string(), title: z.string(), state: z.string(), output: z.string().optional() }),
    ),
    blocked_by: z.array(z.object({ id: z.string(), title: z.string(), state: z.string() })).optional(),
    held_until: z.string().optional(),
  }),
  async run(app: TasksApp, { id }) {
    const task = await app.tasks.find(id);
    if (!task) return noSuch(app.db.read, "task", id);
    const dependencies = (await app.tasks.dependencies(id)).slice(0, mostDependencies).map((dependency) => ({
      id: dependency.id,
      title: dependency.title,
      state: shownState(dependency),
      ...(typeof dependency.result.output === "string"
        ? { output: dependency.result.output.slice(0, longestExcerpt) }
        : {}),
    }));
    const blocked = task.lostBlockers > 0 && (!isOver(task.state) || shownState(task) === "stale");
    return ok({
      ...brief(task),
      description: task.description,
      epoch: task.epoch,
      result: task.result,
      dependencies,
      ...(blocked ? { blocked_by: await app.tasks.lostAncestors(id) } : {}),
      ...(task.leaseUntil === null ? {} : { held_until: new Date(task.leaseUntil).toISOString() }),
    });
  },
});

const mostDependencies = 5;
const longestExcerpt = 1000;

const brief = (task: Task): z.infer<typeof line> => ({
  id: task.id,
  title: task.title,
  state: shownState(task),
  priority: task.priority,
  ...(task.run ? { run: task.run } : {}),
  ...(task.attempt > 0 ? { attempt: task.attempt } : {}),
  ...(task.holder ? { holder: task.holder } : {}),
  ...(task.blockersLeft > 0 ? { waits_for: task.blockersLeft } : {}),
});
