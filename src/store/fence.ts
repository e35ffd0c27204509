import { sql } from "kysely";
import { ok, type Problem, type Result, refuse } from "../kernel/result.ts";
import { hashOfSecret } from "./claim-secret.ts";
import { clockByNow } from "./clock.ts";
import type { Database, Query } from "./database.ts";
import { appendEvent, type NewEvent } from "./events.ts";

type Engine = Database["engine"];

/** A claim as a write names it. The epoch says which claim, the secret proves that the writer made it. */
export type NamedClaim = { epoch?: number | undefined; secret?: string | undefined };

/** The writer and its claim, if any. */
export type Claimant = NamedClaim & { name: string; task?: string | undefined };

/** The columns of a task that describe its claim. */
type Claimed = {
  id: string;
  epoch: number;
  state: string;
  holder: string | null;
  claimedAt: number | null;
  leaseUntil: number | null;
  secretHash: string | null;
};

/** The claim that keeps others from a task. */
export type Held = { holder: string; since: string; until: string; alive: boolean };

export const heldBy = (task: Pick<Claimed, "holder" | "claimedAt" | "leaseUntil">, clock: number): Held => ({
  holder: task.holder ?? "",
  since: iso(task.claimedAt),
  until: iso(task.leaseUntil),
  alive: (task.leaseUntil ?? 0) >= clock,
});

export const iso = (ms: number | null) => new Date(Number(ms ?? 0)).toISOString();

/**
 * Decides whether a write to a task, or in its name, is allowed. While the task is held it needs the claim: epoch and
 * secret; a task that nobody holds needs none. `clock` is the store's time. Pure.
 */
export function checkClaim(task: Claimed, clock: number, { epoch, secret }: NamedClaim): Result<true> {
  const { id } = task;
  if (epoch === undefined) {
    if (task.holder === null) return ok(true);
    const held = heldBy(task, clock);
    const message = `${held.holder} has claimed task ${id} until ${held.until}; if that is you, send the epoch and the secret of your claim`;
    return refuse("conflict", message, { ...held, next: [{ operation: "release_task", input: { id }, to: "end it" }] });
  }
  const next = (to: string) => [{ operation: "lock_todo" as const, input: { id }, to }];
  const ended = whyEnded(task, clock, epoch);
  if (ended) {
    const details = { late: true, epoch: task.epoch, state: task.state, next: next("claim it again") };
    return refuse("conflict", `task ${id}: ${ended}; nothing was saved`, details);
  }
  if (secret === undefined) {
    const message = `secret: missing; expected the secret that claiming task ${id} returned to ${task.holder}`;
    return refuse("invalid", message, { unproven: "missing", next: next("claim it yourself") });
  }
  if (hashOfSecret(secret) !== task.secretHash) {
    const message = `the secret does not belong to the claim of ${task.holder} on task ${id} (epoch ${epoch}); nothing was saved`;
    return refuse("denied", message, { unproven: "wrong", next: next("claim it yourself") });
  }
  return ok(true);
}

function whyEnded({ epoch: latest, holder, leaseUntil }: Claimed, clock: number, epoch: number): string | undefined {
  if (epoch !== latest) return `the claim with epoch ${epoch} has ended; the task is at epoch ${latest}`;
  if (holder === null) return `the claim with epoch ${epoch} has ended`;
  return (leaseUntil ?? 0) < clock ? "its lease has expired" : undefined;
}

/**
 * Fences a write made under a claim but not on the task itself: entries, nodes, edges, spend. It runs
 * in the transaction of the write. On PostgreSQL it locks the task's row until that transaction ends, so
 * no newer claim can begin in between. Returns the attempt that the write belongs to. A task unknown to this
 * store is another system's and has no claim here, unless the writer has a secret: then the store lost the claim.
 */
export async function holdClaim(
  tx: Query,
  engine: Engine,
  { task, epoch, secret }: Claimant,
): Promise<Result<{ attempt: number | null }>> {
  if (task === undefined) return ok({ attempt: null });
  const lock = engine === "postgres" ? sql`FOR SHARE` : sql``;
  const { rows } = await sql<Claimed & { attempt: number; now: number }>`
    SELECT id, epoch, state, holder, claimed_at AS "claimedAt", lease_until AS "leaseUntil",
      secret_hash AS "secretHash", attempt, ${clockByNow[engine]} AS now
    FROM tasks WHERE id = ${task} ${lock}`.execute(tx);
  const [claimed] = rows;
  if (!claimed && secret === undefined) return ok({ attempt: null });
  if (!claimed)
    return refuse("conflict", `task ${task} does not exist, nor your claim on it; nothing was saved`, { late: true });
  const allowed = checkClaim(claimed, Number(claimed.now), { epoch, secret });
  if (!allowed.ok) return allowed;
  return ok({ attempt: epoch === undefined ? null : claimed.attempt });
}

type Deps = { db: Database; now(): Date };

/**
 * Runs a write and, when its claim is refused, records that. The record needs a transaction of its
 * own: the one of the write is rolled back.
 */
export async function recordingRefused<T>(
  deps: Deps,
  { name, task, epoch }: Claimant,
  step: string,
  write: () => Promise<Result<T>>,
): Promise<Result<T>> {
  const done = await write();
  if (!done.ok && task !== undefined && isClaimRefused(done.problem))
    await recordRefused(deps, { actor: name, task, step, epoch }, done.problem);
  return done;
}

const isClaimRefused = ({ details }: Problem) => details?.late === true || details?.unproven !== undefined;

/** Records a write whose claim had ended or was not proven by its secret. */
async function recordRefused(
  { db, now }: Deps,
  { actor, task, step, epoch }: { actor: string; task: string; step: string; epoch: number | undefined },
  { details }: Problem,
): Promise<void> {
  const event: NewEvent = {
    at: now().toISOString(),
    actor,
    kind: "task-write-refused",
    subject: `task:${task}`,
    data: { step, epoch: epoch ?? null, ...(details?.unproven ? { unproven: details.unproven } : {}) },
  };
  await db.write((tx) => appendEvent(tx, event));
}
