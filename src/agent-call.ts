import type { App } from "./app.ts";
import { jobOperations, jobTools } from "./jobs/tools.ts";
import { type Caller, newTurn } from "./kernel/caller.ts";
import type { Operation } from "./kernel/operation.ts";
import { ok, type Result, refuse } from "./kernel/result.ts";
import { isOperation, loaders } from "./operation-loaders.ts";
import { chooseRole } from "./wiki/role.ts";

/** An operation that `scribe` asks for, here or in a running server. */
export type AgentCall = {
  operation: string;
  input: Record<string, unknown>;
  role?: string;
  run?: string;
  task?: string;
  epoch?: number;
  secret?: string;
  /** The job that the agent was started for. */
  job?: string;
  idempotencyKey?: string;
};

/**
 * Performs an operation for an agent: bound to its job where it has one (R11), else in a role of the schema. The
 * caller is always an agent, whatever the call says.
 */
export async function callAsAgent(app: App, call: AgentCall): Promise<Result<unknown>> {
  if (!isOperation(call.operation)) return refuse("not_found", `${call.operation} is not an operation`);
  const operation: Operation<App> = await loaders[call.operation]();
  if (call.job !== undefined) {
    const job = await app.jobs.find(call.job);
    if (!job) return refuse("denied", `no job ${call.job} in this workspace; SCRIPTORIUM_JOB is set to it`);
    return jobTools(app, job, [operation]).call(call.operation, call.input, call.idempotencyKey);
  }
  const caller = await callerOf(app, call);
  if (!caller.ok) return caller;
  return operation.perform(app, call.input, caller.value, app.idempotency.once(call.idempotencyKey));
}

async function callerOf(app: App, call: AgentCall): Promise<Result<Caller>> {
  const { operation, role: given, run, task, epoch, secret } = call;
  const schema = await app.schema();
  if (!schema.ok) return schema;
  const role = chooseRole(schema.value, given, `${app.config.wiki}/schema.yaml`);
  // The job decides what these may do, so they need no role.
  const isOpenToAll = given === undefined && jobOperations.has(operation);
  if (!role.ok && !isOpenToAll) return role;
  return ok({
    kind: "agent",
    role: role.ok ? role.value : "agent",
    turn: newTurn(run),
    ...(task ? { task } : {}),
    ...(epoch === undefined ? {} : { epoch }),
    ...(secret === undefined ? {} : { secret }),
  });
}
