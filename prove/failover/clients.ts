import { setTimeout as sleep } from "node:timers/promises";
import type { Op } from "./history.ts";
import type { Answer, Caller } from "./processes.ts";

/** Where clients log what they send; `prefix` begins every mark, so that a row of the table finds its own. */
export type Log = {
  ops: Op[];
  prefix: string;
  /** False: clients end after the operation in progress. */
  isOpen: boolean;
  random(): number;
};

const now = () => performance.now();
let made = 0;

type Sent = Pick<Op, "client" | "kind" | "key"> & Partial<Op>;

/** Sends one operation and logs it, also when no answer comes. */
async function perform(log: Log, sent: Sent, send: (mark: string) => Promise<Answer>): Promise<[Op, Answer]> {
  const mark = `${log.prefix}-${sent.client}-${++made}.`;
  const op: Op = { mark, began: now(), outcome: "unknown", ...sent };
  log.ops.push(op);
  const answer = await send(op.mark);
  op.ended = now();
  op.outcome = answer.outcome;
  if (answer.why) op.why = answer.why;
  if (answer.outcome === "ok" && typeof answer.value.version === "number") op.version = answer.value.version;
  return [op, answer];
}

const pause = (log: Log, ms: number) => sleep(ms / 2 + log.random() * ms);

/** Reads the register and writes over the version that was read. */
export async function commits(log: Log, client: string, key: string, call: Caller): Promise<void> {
  while (log.isOpen) {
    const [read] = await perform(log, { client, kind: "read", key }, () => call("fetch_entry", { id: key }));
    if (read.outcome === "ok")
      await perform(log, { client, kind: "commit", key }, (mark) =>
        call("commit_entry", { id: key, content: `${mark}\n`, version: read.version }),
      );
    await pause(log, 60);
  }
}

export async function appends(log: Log, client: string, key: string, call: Caller): Promise<void> {
  while (log.isOpen) {
    await perform(log, { client, kind: "append", key }, (mark) => call("append_log", { id: key, line: mark }));
    await pause(log, 60);
  }
}

/** Tasks that all claimers compete for. */
export type Tasks = { open: string[] };
const wanted = 4;

/** Claims a task, changes it under the claim, and completes, releases or abandons it. */
export async function claims(log: Log, client: string, tasks: Tasks, call: Caller, leaseMs: number): Promise<void> {
  while (log.isOpen) {
    if (tasks.open.length < wanted) {
      const [, made] = await perform(log, { client, kind: "create", key: "" }, (mark) =>
        call("create_todo", { title: mark }),
      );
      if (made.outcome === "ok") tasks.open.push(String(made.value.id));
    }
    const key = tasks.open[Math.floor(log.random() * tasks.open.length)];
    if (key) await workOn(log, client, key, tasks, call, leaseMs);
    await pause(log, 60);
  }
}

async function workOn(log: Log, client: string, key: string, tasks: Tasks, call: Caller, leaseMs: number) {
  const claim = `${log.prefix}-${client}-holder-${++made}`;
  const lease_seconds = leaseMs / 1000;
  const [claimed, answer] = await perform(log, { client, kind: "claim", key, claim, leaseMs }, () =>
    call("lock_todo", { id: key, agent_id: claim, lease_seconds }),
  );
  const { status, epoch, secret } = answer.value;
  if (answer.outcome !== "ok" || status !== "locked") {
    // `held` is an answer without a claim.
    if (answer.outcome === "ok") claimed.outcome = "refused";
    if (answer.value.status === "conflict" || answer.value.status === "refused") drop(tasks, key);
    return;
  }
  claimed.epoch = Number(epoch);
  const under = { id: key, epoch, secret };
  for (let n = Math.floor(log.random() * 4); n > 0 && log.isOpen; n--) {
    const [edited] = await perform(log, { client, kind: "edit", key, claim }, (mark) =>
      call("update_todo", { ...under, title: mark }),
    );
    if (edited.outcome === "refused") return;
    await pause(log, 200);
  }
  const next = log.random();
  if (next < 0.6) {
    const [done] = await perform(log, { client, kind: "complete", key, claim }, (mark) =>
      call("update_todo", { ...under, status: "completed", output: mark }),
    );
    if (done.outcome === "ok") drop(tasks, key);
  } else if (next < 0.85) await perform(log, { client, kind: "release", key, claim }, () => call("unlock_todo", under));
}

function drop(tasks: Tasks, key: string): void {
  tasks.open = tasks.open.filter((id) => id !== key);
}
