import { AsyncLocalStorage } from "node:async_hooks";
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../kernel/caller.ts";
import type { Once } from "../kernel/operation.ts";
import { processName, processState } from "../kernel/process-name.ts";
import { ok, type Refusal, type Result, refuse } from "../kernel/result.ts";
import { storeClock } from "./clock.ts";
import { ClosedDatabase, type Database, type Query, UnknownOutcome, undoesWrites } from "./database.ts";
import { crashPoint } from "./disk/crash.ts";
import { deleteCall, deleteOldCalls, findCall, insertCall, type NewCall, saveCall } from "./queries/idempotency.ts";
import type { IdempotencyRow } from "./tables.ts";

/**
 * A mutation with an idempotency key takes effect once, however often it is repeated.
 *
 *   first transaction of the call ──▶ running ──answer saved──▶ done
 *                                        ├──────refused───────▶ (deleted)
 *                                        └──────threw─────────▶ failed
 *
 * The row is inserted in the first transaction of the call, before its work: of two calls with one key the second
 * rolls back and gets the answer of the first. A process that dies leaves `running`; its effect is known, its answer
 * is not, and a repeat gets a refusal that says so. A process that lives saves the end of each call, also after an
 * outage of the database: a repeat elsewhere would wait for it otherwise.
 */
export type Idempotency = {
  /** Performs calls with this key; undefined without a key. */
  once(key: string | undefined): Once | undefined;
  /** Resolves when the answers that were given so far are saved, or after 5 seconds without a database. */
  idle(): Promise<void>;
};

const keptMs = 24 * 60 * 60 * 1000;
const mostCalls = 20_000;
const largestAnswer = 256 * 1024;
const sweepMs = 10 * 60 * 1000;
/** How long a repeat waits for the first call in another process. */
const patienceMs = 5000;
/** A process on another machine counts as gone after this long. */
const silenceMs = 90_000;

type KeyedCall = {
  row: NewCall;
  isOpen: boolean;
  wrote: boolean;
  isTaken: boolean;
  /** Why it is not known whether its first transaction was committed. */
  unknown: UnknownOutcome | undefined;
};
const keyedCalls = new AsyncLocalStorage<KeyedCall | undefined>();

/** True while a call with a key is performed: its writes must not share a transaction with those of other calls. */
export const isKeyed = (): boolean => keyedCalls.getStore()?.isOpen === true;

/** For work that many calls share: it belongs to none of them. */
export const outsideCalls = <T>(work: () => T): T => keyedCalls.run(undefined, work);

class KeyTaken extends Error {}

/** Inserts the row of a call with a key in the call's first transaction. */
export function withIdempotency(db: Database): Database {
  return {
    ...db,
    async write(work, how) {
      const call = keyedCalls.getStore();
      if (!call?.isOpen || call.wrote) return db.write(work, how);
      // The row makes it more than one statement.
      const isLong = { isLong: how?.isLong === true };
      const value = await db
        .write(async (tx) => {
          if (!(await insertCall(tx, db.engine, call.row))) {
            call.isTaken = true;
            throw new KeyTaken("another call with this idempotency key is performed");
          }
          return work(tx);
        }, isLong)
        .catch((error: unknown) => {
          if (error instanceof UnknownOutcome) call.unknown = error;
          throw error;
        });
      if (!undoesWrites(value)) call.wrote = true;
      return value;
    },
  };
}

type Call = Parameters<Once>[0];
type Known = { row: IdempotencyRow; key: string; showsOnce: boolean };

export function openIdempotency({ db, now }: { db: Database; now(): Date }): Idempotency {
  const { engine } = db;
  const here = new Map<string, { inputHash: string; result: Promise<Result<unknown>> }>();
  const saving = new Set<Promise<void>>();
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function perform(key: string, row: NewCall, call: Call, run: () => Promise<Result<unknown>>) {
    for (let attempt = 1; ; attempt++) {
      const known = await settled(row.id);
      if (known) return repeated({ row: known, key, showsOnce: call.showsOnce }, row.input_hash, call.operation);
      const result = await performOnce(key, row, call, run);
      if (result) return result;
      if (attempt === 3) return stillRunning(call.operation);
    }
  }

  /** Undefined if another call was first. */
  async function performOnce(key: string, row: NewCall, call: Call, run: () => Promise<Result<unknown>>) {
    const keyed: KeyedCall = { row, isOpen: true, wrote: false, isTaken: false, unknown: undefined };
    const result = await keyedCalls
      .run(keyed, run)
      .catch((error: unknown) => ({ error }))
      .finally(() => {
        keyed.isOpen = false;
      });
    if (keyed.unknown) {
      void end((tx) => endUnknown(tx, row));
      throw new UnknownOutcome(keyed.unknown.cause, true);
    }
    if (keyed.isTaken && !keyed.wrote) return undefined;
    if ("error" in result) {
      if (keyed.wrote) await end((tx) => saveCall(tx, engine, { ...row, state: "failed" }));
      const { error } = result;
      throw error instanceof UnknownOutcome ? new UnknownOutcome(error.cause, true) : error;
    }
    if (!result.ok) {
      if (keyed.wrote) await end((tx) => deleteCall(tx, row));
      return result;
    }
    crashPoint("call-performed");
    const answer = call.showsOnce ? null : sealed(key, row.id, JSON.stringify(result.value));
    // The caller need not wait: until it is saved, repeats in this process get the answer from memory.
    void end((tx) => saveCall(tx, engine, { ...row, state: "done", answer }));
    return result;
  }

  /** Resolves after the first try; while the database does not answer, further ones follow until it is closed. */
  async function end(save: (tx: Query) => Promise<void>): Promise<void> {
    const first = db.write(save);
    const saved = first
      .catch(() => saveLater(save))
      .then(sweep)
      .catch(() => undefined)
      .finally(() => saving.delete(saved));
    saving.add(saved);
    await first.catch(() => undefined);
  }

  async function saveLater(save: (tx: Query) => Promise<void>): Promise<void> {
    for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, 10_000)) {
      await sleep(pauseMs, undefined, { ref: false });
      try {
        return await db.write(save);
      } catch (error) {
        if (error instanceof ClosedDatabase) return;
      }
    }
  }

  /** The first transaction of the call may still be being committed: the insert waits for its end. */
  async function endUnknown(tx: Query, row: NewCall): Promise<void> {
    const probe = { ...row, call: randomUUID() };
    if (await insertCall(tx, engine, probe)) await deleteCall(tx, probe);
    else await saveCall(tx, engine, { ...row, state: "failed" });
  }

  /** The row of an earlier call, after waiting for its end; undefined if there is none. */
  async function settled(id: string): Promise<IdempotencyRow | undefined> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const row = await findCall(db.read, id);
      if (row?.state !== "running" || (await isGone(row)) || performance.now() > until) return row;
      await sleep(50);
    }
  }

  async function isGone({ holder, at }: IdempotencyRow): Promise<boolean> {
    const state = processState(holder);
    if (state !== "unknown") return state === "gone";
    return (await storeClock(db.read, engine)) - Date.parse(at) > silenceMs;
  }

  async function repeated({ row, key, showsOnce }: Known, inputHash: string, operation: string) {
    if (row.input_hash !== inputHash) return otherInput(operation, row.at);
    if (row.state === "running" && !(await isGone(row))) return stillRunning(operation);
    if (row.state !== "done")
      return refuse(
        "conflict",
        `${operation} with this idempotency key took effect at ${row.at}, at least in part, but its answer was not saved. Read the present state; to call it again, use a new key.`,
        { took_effect: true, at: row.at },
      );
    if (row.answer !== null) return ok(JSON.parse(opened(key, row.id, row.answer)));
    const why = showsOnce
      ? "its answer has a secret that is shown once and not stored. Revoke or remove what it created, and call it again with a new key."
      : "its answer is too large to keep. Read the present state.";
    return refuse("conflict", `${operation} with this idempotency key took effect at ${row.at}; ${why}`, {
      took_effect: true,
      at: row.at,
    });
  }

  async function sweep(): Promise<void> {
    if (performance.now() - sweptAt < sweepMs) return;
    sweptAt = performance.now();
    const since = (await storeClock(db.read, engine)) - keptMs;
    await db.write((tx) => deleteOldCalls(tx, new Date(since).toISOString(), mostCalls));
  }

  return {
    once(key) {
      if (key === undefined) return undefined;
      return (async (call, run) => {
        if (!/^[\x21-\x7e]{1,200}$/.test(key))
          return refuse("invalid", "the idempotency key must have 1 to 200 visible ASCII characters and no space");
        const id = digest([identityOf(call.caller), call.operation, key]);
        const inputHash = digest([key, canonical(call.input)]);
        const first = here.get(id);
        if (first)
          return first.inputHash === inputHash ? first.result : otherInput(call.operation, now().toISOString());
        const row: NewCall = {
          id,
          operation: call.operation,
          input_hash: inputHash,
          call: randomUUID(),
          state: "running",
          answer: null,
          holder: processName(),
        };
        const result = perform(key, row, call, run);
        here.set(id, { inputHash, result });
        const forget = () => here.delete(id);
        const saved = () => Promise.allSettled(saving);
        void result.then(saved, saved).then(forget);
        return result;
      }) as Once;
    },
    async idle() {
      const timer = new AbortController();
      const patience = sleep(patienceMs, undefined, timer).catch(() => undefined);
      await Promise.race([Promise.allSettled(saving), patience]);
      timer.abort();
    },
  };
}

const otherInput = (operation: string, at: string): Refusal =>
  refuse("invalid", `this idempotency key was used at ${at} for ${operation} with another input; use a new key`);

const stillRunning = (operation: string): Refusal =>
  refuse(
    "conflict",
    `${operation} with this idempotency key is still running; repeat it with the same key to get its answer`,
  );

/** A key belongs to its caller: the same key of another person or role is another key. */
function identityOf(caller: Caller): string {
  if (caller.kind === "person") return JSON.stringify(["person", caller.name, caller.isOwner === true]);
  return JSON.stringify(["agent", caller.role, caller.task ?? "", caller.job ?? "", caller.crew?.context ?? ""]);
}

const digest = (parts: string[]) => createHash("sha256").update(JSON.stringify(parts)).digest("hex");

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  ) ?? "";

/** Answers may have secrets, such as that of a claim: without the key, which is not stored, nobody can read them. */
const secretOf = (key: string, id: string) => Buffer.from(hkdfSync("sha256", key, id, "answer", 32));

/** Null for an answer that is too large. */
function sealed(key: string, id: string, text: string): string | null {
  if (text.length > largestAnswer) return null;
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", secretOf(key, id), nonce);
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64");
}

function opened(key: string, id: string, text: string): string {
  const bytes = Buffer.from(text, "base64");
  const decipher = createDecipheriv("aes-256-gcm", secretOf(key, id), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString("utf8");
}
