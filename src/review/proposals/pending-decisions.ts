import type { Log } from "../../kernel/log.ts";
import { ok, type Problem, type Result, refuse } from "../../kernel/result.ts";
import type { WireData } from "../../kernel/wire.ts";
import type { Database } from "../../store/database.ts";
import { appendEvent, type NewEvent } from "../../store/events.ts";

/** How long a decision can be undone. */
const holdMs = 10_000;

export type Choice = "approve" | "reject";

export type PendingDecision = {
  decision: Choice;
  by: string;
  /** When the person decided, and when it takes effect. */
  at: string;
  until: string;
  remainingMs: number;
  /** Why it did not take effect; the proposal is open again. */
  problem: Problem | null;
};

type Held = {
  decision: Choice;
  by: string;
  at: Date;
  state: "waiting" | "running" | "failed";
  timer: ReturnType<typeof setTimeout> | undefined;
  done: Promise<void> | undefined;
  problem: Problem | null;
};

type NewDecision = { decision: Choice; by: string; apply(): Promise<Result<unknown>> };
type Deps = { db: Database; now(): Date; log: Log };

/**
 * Decisions from a browser, held in this process's memory until they take effect:
 *
 *   open ──hold──▶ waiting ──10 s──▶ running ──▶ approved or rejected
 *    ▲               │                  │
 *    └─────undo──────┘                  └──refused──▶ failed: open, with the reason, until the next decision
 *
 * A process that ends drops what is waiting, and the proposal is open again: nothing takes effect that a person could
 * no longer undo. Events tell other browsers.
 */
export function pendingDecisions({ db, now, log }: Deps) {
  const held = new Map<string, Held>();

  const tell = (id: string, kind: NewEvent["kind"], actor: string, data: WireData) =>
    db.write((tx) => appendEvent(tx, { at: now().toISOString(), actor, kind, subject: `proposal:${id}`, data }));

  async function run(id: string, one: Held, apply: NewDecision["apply"]): Promise<void> {
    one.state = "running";
    const done = await apply().catch((error: unknown): Result<unknown> => {
      log.error({ proposal: id, error: String(error) }, "decision-failed");
      return refuse("storage", `the server could not ${one.decision} proposal ${id}: ${String(error)}`);
    });
    if (done.ok) {
      held.delete(id);
      return;
    }
    one.state = "failed";
    one.problem = done.problem;
    const data = { decision: one.decision, problem: done.problem.message };
    await tell(id, "proposal-decision-failed", one.by, data).catch((error: unknown) =>
      log.error({ proposal: id, error: String(error) }, "decision-failed"),
    );
  }

  return {
    async hold(id: string, { decision, by, apply }: NewDecision): Promise<Result<PendingDecision>> {
      const other = held.get(id);
      if (other && other.state !== "failed") {
        const what = other.decision === "approve" ? "approved" : "rejected";
        return refuse("conflict", `${other.by} just ${what} proposal ${id}; wait until it takes effect, or undo it`);
      }
      const one: Held = { decision, by, at: now(), state: "waiting", timer: undefined, done: undefined, problem: null };
      held.set(id, one);
      const start = () => {
        one.done = run(id, one, apply);
      };
      try {
        await tell(id, "proposal-deciding", by, { decision, until: until(one).toISOString() });
      } catch (error) {
        held.delete(id);
        throw error;
      }
      if (held.get(id) === one) one.timer = setTimeout(start, holdMs);
      return ok(shown(one, now()));
    },

    /** Cancels a waiting decision, or dismisses the reason why one failed. */
    async undo(id: string, by: string): Promise<Result<PendingDecision>> {
      const one = held.get(id);
      if (!one) return refuse("conflict", `no decision about proposal ${id} is waiting; it took effect or was undone`);
      if (one.state === "running")
        return refuse("conflict", `the decision about proposal ${id} is already taking effect`);
      clearTimeout(one.timer);
      held.delete(id);
      await tell(id, "proposal-decision-undone", by, { decision: one.decision, decided_by: one.by });
      return ok(shown(one, now()));
    },

    of(id: string): PendingDecision | null {
      const one = held.get(id);
      return one ? shown(one, now()) : null;
    },

    /** Drops what waits and lets what is taking effect finish. */
    async close(): Promise<void> {
      for (const [id, one] of held) {
        clearTimeout(one.timer);
        if (one.state === "waiting") held.delete(id);
      }
      await Promise.all([...held.values()].map(({ done }) => done));
      held.clear();
    },
  };
}

export type PendingDecisions = ReturnType<typeof pendingDecisions>;

const until = ({ at }: Held) => new Date(at.getTime() + holdMs);

const shown = (one: Held, now: Date): PendingDecision => ({
  decision: one.decision,
  by: one.by,
  at: one.at.toISOString(),
  until: until(one).toISOString(),
  remainingMs: one.state === "waiting" ? Math.max(0, until(one).getTime() - now.getTime()) : 0,
  problem: one.problem,
});
