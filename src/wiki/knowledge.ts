import { type Agent, type Caller, checkCaller } from "../kernel/caller.ts";
import type { NextOperation } from "../kernel/next-step.ts";
import { ok, type Refusal, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { holdClaim, recordingRefused } from "../store/fence.ts";
import { findFocus } from "../store/queries/focus.ts";
import { waitingFor } from "../store/queries/handoffs.ts";
import { findRename } from "../store/queries/schema-versions.ts";
import type { FocusRow } from "../store/tables.ts";
import { checkText, handsOver, mayRead, mayWrite, nextFocus, requireSection } from "./contract.ts";
import type { Author, Entry, EntryMetadata, EntryStore, Guard } from "./entry.ts";
import {
  countRead,
  focusFor,
  handoffLine,
  handoffLog,
  holdFocus,
  isInPipeline,
  mayAct,
  type PipelineTurn,
  passFocus,
} from "./focus.ts";
import type { Schema } from "./schema.ts";

export type Catalogue = {
  entries: EntryMetadata[];
  /** The handoff that the previous role left; agents only. */
  handoff?: { from: string; summary: string; run: string; step: number } | null;
};

export type Transfer = {
  status: "success";
  target: string | null;
  requested: string;
  forced: boolean;
  run: string;
  step: number;
  ended?: string;
  message?: string;
};

/** The protocol that agents see (K3); the same for every backend. */
export interface KnowledgeStore {
  listEntries(): Promise<Result<Catalogue>>;
  fetchEntry(id: string): Promise<Result<Entry>>;
  commitEntry(id: string, content: string, version: number): Promise<Result<{ status: "success"; version: number }>>;
  appendLog(id: string, line: string): Promise<Result<{ status: "success"; version: number; line: string }>>;
  transferFocus(target: string, summary: string): Promise<Result<Transfer>>;
}

export type KnowledgeDeps = {
  db: Database;
  entries: EntryStore;
  schema(): Promise<Result<Schema>>;
  now(): Date;
  newId(prefix: string): string;
};

/**
 * Enforces the contract on top of any store: roles, versions, the read cap and handoffs. It does so in code
 * that every tool call passes, so that no prompt can get around it (K5 to K9).
 */
export function knowledge(deps: KnowledgeDeps, caller: Caller): KnowledgeStore {
  const { db, entries, schema } = deps;
  const role = caller.kind === "agent" ? caller.role : undefined;

  type Entered = { schema: Schema; focus: FocusRow | undefined; turn: PipelineTurn | undefined };

  /** The present schema and, for a role of the pipeline, its turn; or the reason why the caller cannot act. */
  async function enter(): Promise<Result<Entered>> {
    const named = checkCaller(caller);
    if (!named.ok) return named;
    const read = await schema();
    if (!read.ok) return read;
    if (caller.kind === "person") return ok({ schema: read.value, focus: undefined, turn: undefined });
    const isRuled = isInPipeline(read.value, caller);
    if (!isRuled && caller.turn.lasting) caller.turn.run ??= deps.newId("r");
    const { run } = caller.turn;
    const focus = isRuled ? await focusFor(deps, caller) : run && (await findFocus(db.read, run));
    if (focus && focus.holder === null) return mayAct(focus, caller.role) as Result<never>;
    return ok({ schema: read.value, focus: focus || undefined, turn: isRuled ? turnOf(caller, focus) : undefined });
  }

  /** Enters to read or write, which only the holder of the focus may do. */
  async function enterToAct(): Promise<Result<Entered>> {
    const entered = await enter();
    if (!entered.ok || !entered.value.turn) return entered;
    const may = mayAct(entered.value.focus, entered.value.turn.role);
    return may.ok ? entered : may;
  }

  /** A write of a turn takes effect only while the role holds the focus. A single command may have no run to hold. */
  const guardOf = (turn: PipelineTurn | undefined): Guard | undefined =>
    turn?.run ? (tx) => holdFocus(tx, deps, turn) : undefined;

  /** A refusal that names the new id if the section was renamed. */
  async function orRenamed(refusal: Refusal, id: string, operation: NextOperation): Promise<Refusal> {
    const renamed = refusal.problem.code === "not_found" ? await findRename(db.read, id) : undefined;
    if (!renamed) return refusal;
    const { new_id: to, renamed_by: by } = renamed;
    const next = [{ operation, input: { id: to }, to: "use it" }];
    return refuse("not_found", `section ${id} was renamed to ${to} by ${by}`, { renamed_to: to, next });
  }

  const author = (): Author =>
    caller.kind === "person"
      ? {
          name: caller.name,
          ...(caller.email ? { email: caller.email } : {}),
          ...(caller.proof === undefined ? {} : { proven: true as const }),
        }
      : {
          name: caller.role,
          role: caller.role,
          ...(caller.turn.run ? { run: caller.turn.run } : {}),
          ...(caller.task ? { task: caller.task } : {}),
          ...(caller.epoch === undefined ? {} : { epoch: caller.epoch }),
          ...(caller.secret === undefined ? {} : { secret: caller.secret }),
        };

  /** Counts a read against the cap of the turn. Outside the pipeline a turn is a matter of the connection. */
  async function mayFetch(caller: Agent, { schema, turn }: Entered, id: string): Promise<Result<unknown>> {
    if (turn) {
      caller.turn.run ??= deps.newId("r");
      return countRead(deps, schema, { ...turn, run: caller.turn.run }, id);
    }
    const claim =
      caller.secret === undefined ? ok(true) : await holdClaim(db.read, db.engine, { name: caller.role, ...caller });
    if (!claim.ok) return claim;
    const may = mayRead(schema, caller.role, caller.turn.reads, id);
    if (may.ok) caller.turn.reads.add(id);
    return may;
  }

  return {
    async listEntries() {
      const entered = await enter();
      if (!entered.ok) return entered;
      const list = await entries.list();
      if (caller.kind === "person") return ok({ entries: list });
      if (!handsOver(entered.value.schema, caller.role)) caller.turn.reads.clear();
      const waiting = await waitingFor(db.read, caller.role, caller.turn.run);
      const handoff = waiting && {
        from: waiting.from_role,
        summary: waiting.summary,
        run: waiting.run,
        step: waiting.step,
      };
      return ok({ entries: list, handoff: handoff ?? null });
    },

    async fetchEntry(id) {
      const entered = await enterToAct();
      if (!entered.ok) return entered;
      const section = requireSection(entered.value.schema, id);
      if (!section.ok) return orRenamed(section, id, "fetch_entry");
      if (caller.kind === "agent") {
        const may = await mayFetch(caller, entered.value, id);
        if (!may.ok) return may;
      }
      return ok(await entries.fetch(id));
    },

    async commitEntry(id, content, version) {
      const entered = await enterToAct();
      if (!entered.ok) return entered;
      const may = mayWrite(entered.value.schema, role, id, "commit");
      if (!may.ok) return orRenamed(may, id, "fetch_entry");
      const text = checkText(content);
      if (!text.ok) return text;
      const by = author();
      const guard = guardOf(entered.value.turn);
      const done = await recordingRefused(deps, by, "commit_entry", () =>
        entries.commit(id, content, version, by, guard),
      );
      return done.ok ? ok({ status: "success", version: done.value.version }) : done;
    },

    async appendLog(id, line) {
      const entered = await enterToAct();
      if (!entered.ok) return entered;
      const may = mayWrite(entered.value.schema, role, id, "append");
      if (!may.ok) return orRenamed(may, id, "append_log");
      const by = author();
      const guard = guardOf(entered.value.turn);
      const done = await recordingRefused(deps, by, "append_log", () => entries.append(id, line, by, guard));
      return done.ok ? ok({ status: "success", ...done.value }) : done;
    },

    async transferFocus(target, summary) {
      if (caller.kind === "person") return refuse("denied", "only an agent with a role can hand off");
      const entered = await enterToAct();
      if (!entered.ok) return entered;
      const { schema, focus } = entered.value;
      caller.turn.run ??= deps.newId("r");
      const turn = turnOf(caller, focus);
      const step = (focus?.step ?? 0) + 1;
      const next = nextFocus(schema, caller.role, target, step);
      if (!next.ok) return next;
      const { to, forced, ended } = next.value;
      const passing = { turn, target, summary: summary.trim(), next: next.value };
      const log = handoffLog(schema);
      const pass: Guard = (tx) => passFocus(tx, deps, passing);
      const line = handoffLine(passing, step, schema.maxSteps);
      const done = log ? await entries.append(log.id, line, author(), pass) : await db.write(pass);
      if (!done.ok) return done;
      return ok<Transfer>({
        status: "success",
        target: to,
        requested: target,
        forced,
        run: turn.run,
        step,
        ...(ended ? { ended } : {}),
        ...(forced ? { message: forcedMessage(caller.role, target, to) } : {}),
      });
    },
  };
}

const turnOf = ({ role, turn }: Agent, focus: FocusRow | "" | undefined): PipelineTurn => ({
  run: turn.run ?? "",
  role,
  owner: turn.named ? null : turn.owner,
  epoch: focus ? focus.epoch : undefined,
});

const forcedMessage = (from: string, asked: string, to: string | null) =>
  `handoffs only move forward in the pipeline: ${from} asked for ${asked}; ${to === null ? "the pipeline is complete" : `the focus goes to ${to}`}`;
