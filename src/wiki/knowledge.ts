import type { Caller, Turn } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { recordingRefused } from "../store/fence.ts";
import { lastStep, saveHandoff, waitingFor } from "../store/queries/handoffs.ts";
import { checkText, handsOver, mayRead, mayWrite, nextFocus, requireSection } from "./contract.ts";
import type { Author, Entry, EntryMetadata, EntryStore } from "./entry.ts";
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
  const { db, entries, schema, now } = deps;
  const role = caller.kind === "agent" ? caller.role : undefined;

  /** Opens the caller's turn and returns the present schema, or the reason why the caller cannot act. */
  async function enter(): Promise<Result<Schema>> {
    const read = await schema();
    if (!read.ok || caller.kind === "person") return read;
    const { turn } = caller;
    if (turn.over) beginAgain(turn);
    turn.run ??= (await waitingFor(db.read, caller.role, undefined))?.run;
    if (turn.lasting) turn.run ??= deps.newId("r");
    const last = turn.run === undefined ? undefined : await lastStep(db.read, turn.run);
    if (last && last.to_role === null) {
      return refuse("refused", `run ${turn.run} ended after ${last.step} steps; start a new run`, {
        run: turn.run,
      });
    }
    return read;
  }

  const author = (): Author =>
    caller.kind === "person"
      ? { name: caller.name, ...(caller.email ? { email: caller.email } : {}) }
      : {
          name: caller.role,
          role: caller.role,
          ...(caller.turn.run ? { run: caller.turn.run } : {}),
          ...(caller.task ? { task: caller.task } : {}),
          ...(caller.epoch === undefined ? {} : { epoch: caller.epoch }),
          ...(caller.secret === undefined ? {} : { secret: caller.secret }),
        };

  return {
    async listEntries() {
      const entered = await enter();
      if (!entered.ok) return entered;
      const list = await entries.list();
      if (caller.kind === "person") return ok({ entries: list });
      if (!handsOver(entered.value, caller.role)) caller.turn.reads.clear();
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
      const entered = await enter();
      if (!entered.ok) return entered;
      const section = requireSection(entered.value, id);
      if (!section.ok) return section;
      if (caller.kind === "agent") {
        const may = mayRead(entered.value, caller.role, caller.turn.reads, id);
        if (!may.ok) return may;
        caller.turn.reads.add(id);
      }
      return ok(await entries.fetch(id));
    },

    async commitEntry(id, content, version) {
      const entered = await enter();
      if (!entered.ok) return entered;
      const may = mayWrite(entered.value, role, id, "commit");
      if (!may.ok) return may;
      const text = checkText(content);
      if (!text.ok) return text;
      const by = author();
      const done = await recordingRefused(deps, by, "commit_entry", () => entries.commit(id, content, version, by));
      return done.ok ? ok({ status: "success", version: done.value.version }) : done;
    },

    async appendLog(id, line) {
      const entered = await enter();
      if (!entered.ok) return entered;
      const may = mayWrite(entered.value, role, id, "append");
      if (!may.ok) return may;
      const by = author();
      const done = await recordingRefused(deps, by, "append_log", () => entries.append(id, line, by));
      return done.ok ? ok({ status: "success", ...done.value }) : done;
    },

    async transferFocus(target, summary) {
      if (caller.kind === "person") return refuse("denied", "only an agent with a role can hand off");
      const entered = await enter();
      if (!entered.ok) return entered;
      caller.turn.run ??= deps.newId("r");
      const { run } = caller.turn;
      const said = summary.trim();
      const done = await db.write(async (tx) => {
        const step = ((await lastStep(tx, run))?.step ?? 0) + 1;
        const next = nextFocus(entered.value, caller.role, target, step);
        if (!next.ok) return next;
        const { to, forced, ended } = next.value;
        const at = now().toISOString();
        const id = deps.newId("h");
        const row = { id, run, step, from_role: caller.role, requested: target, to_role: to, summary: said, at };
        await saveHandoff(tx, { ...row, taken_at: null });
        const data = { run, step, from: caller.role, requested: target, to, summary: said, ended: ended ?? null };
        const event = { at, actor: caller.role, subject: `run:${run}`, data };
        await appendEvent(tx, { ...event, kind: forced ? "handoff-forced" : "handoff-made" });
        if (ended) await appendEvent(tx, { ...event, kind: "run-ended" });
        return ok<Transfer>({
          status: "success",
          target: to,
          requested: target,
          forced,
          run,
          step,
          ...(ended ? { ended } : {}),
          ...(forced ? { message: forcedMessage(caller.role, target, to) } : {}),
        });
      });
      if (done.ok) caller.turn.over = true;
      return done;
    },
  };
}

function beginAgain(turn: Turn): void {
  turn.over = false;
  turn.reads.clear();
  if (!turn.named) turn.run = undefined;
}

const forcedMessage = (from: string, asked: string, to: string | null) =>
  `handoffs only move forward in the pipeline: ${from} asked for ${asked}; ${to === null ? "the pipeline is complete" : `the focus goes to ${to}`}`;
