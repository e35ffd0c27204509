import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { operation } from "../../kernel/operation.ts";
import { ok, type Result } from "../../kernel/result.ts";
import { appendEvent } from "../../store/events.ts";
import { findPreamble } from "../../store/queries/runs.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { putFile } from "../record/put-file.ts";
import { preamblePrompt, rules, standardPreamble } from "./prompts.ts";
import { runSolo } from "./run-without-task.ts";
import type { Staff } from "./staff.ts";

type Kind = "worker" | "qc";

const folder = "generated-agents";
const bounds = { toolCalls: 5, messages: 15, outputTokens: 4000 };

/** Roles that differ only in spacing or case are one role. */
export const preambleHash = (kind: Kind, role: string) =>
  createHash("sha256")
    .update(`${kind}\n${role.replaceAll(/\s+/g, " ").trim().toLowerCase()}`)
    .digest("hex")
    .slice(0, 16);

const making = new WeakMap<object, Map<string, Promise<string>>>();

/**
 * Who an agent of this role is, and the rules of its part. The first is written once for each role,
 * kept in generated-agents/ under the hash of the role, and used again; a person may change that
 * file. The rules are always ours.
 */
export async function preambleFor(
  crew: Staff,
  kind: Kind,
  role: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Result<string>> {
  const hash = preambleHash(kind, role);
  const file = join(crew.app.config.root, folder, `${kind}-${hash}.md`);
  const kept = await readFile(file, "utf8").catch(() => undefined);
  const text = kept ?? (await oncePerProcess(crew, hash, () => make(crew, { kind, role, hash, file }, signal)));
  await crew.app.db.write((tx) =>
    tx
      .updateTable("preambles")
      .set((x) => ({ uses: x("uses", "+", 1) }))
      .where("hash", "=", hash)
      .execute(),
  );
  return ok(`${text.trim()}\n\n${rules[kind]}`);
}

/** Ten workers of one role that start together need one preamble. */
function oncePerProcess(crew: Staff, hash: string, make: () => Promise<string>): Promise<string> {
  const waiting = making.get(crew.app.db) ?? new Map<string, Promise<string>>();
  making.set(crew.app.db, waiting);
  const there = waiting.get(hash);
  if (there) return there;
  const made = make().finally(() => waiting.delete(hash));
  waiting.set(hash, made);
  return made;
}

type Wanted = { kind: Kind; role: string; hash: string; file: string };

async function make(crew: Staff, wanted: Wanted, signal: AbortSignal): Promise<string> {
  const { app } = crew;
  const before = await findPreamble(app.db.read, wanted.hash);
  if (!before) await write(crew, wanted, signal);
  const text = (await findPreamble(app.db.read, wanted.hash))?.text ?? standardPreamble(wanted.kind, wanted.role);
  await putFile(app.config.root, wanted.file, `${text.trim()}\n`);
  return text;
}

/** By an agent; where that fails, in the standard words, for a run does not stop for want of a nicer sentence. */
async function write(crew: Staff, wanted: Wanted, signal: AbortSignal): Promise<void> {
  const run = await runWith(crew, wanted.role);
  if (run !== undefined) {
    const { system, prompt } = preamblePrompt(wanted.kind, wanted.role);
    const operations = [submitPreamble(wanted)];
    await runSolo(
      crew,
      { part: "preamble", run, system, prompt, operations, delivers: "submit_preamble", bounds },
      signal,
    );
  }
  await keep(crew.app, wanted, standardPreamble(wanted.kind, wanted.role), "standard");
}

const runWith = async ({ app }: Staff, role: string) =>
  (
    await app.db.read
      .selectFrom("run_tasks")
      .innerJoin("runs", "runs.id", "run_tasks.run_id")
      .select("run_id")
      .where((x) => x.or([x("worker_role", "=", role), x("qc_role", "=", role)]))
      .orderBy("runs.created_at", "desc")
      .limit(1)
      .executeTakeFirst()
  )?.run_id;

const submitPreamble = (wanted: Wanted) =>
  operation({
    name: "submit_preamble",
    summary: "Hand in the preamble that you wrote for this role.",
    guidance:
      "Plain text of 50 to 4,000 characters, addressed to the agent as you. It stands before every task that this role is given.",
    effect: "writes",
    touches: [],
    callers: ["agent"],
    input: z.object({ text: z.string().trim().min(50).max(4000).describe("The preamble") }),
    output: z.object({ hash: z.string() }),
    async run(app: CrewApp, { text }, caller) {
      await keep(app, wanted, text, caller.kind === "agent" ? (caller.crew?.agent ?? caller.role) : "agent");
      return ok({ hash: wanted.hash });
    },
  });

/** The first one counts, whichever process wrote it. */
async function keep(app: Staff["app"], { hash, kind, role }: Wanted, text: string, by: string): Promise<void> {
  const at = app.now().toISOString();
  await app.db.write(async (tx) => {
    const row = await tx
      .insertInto("preambles")
      .values({ hash, kind, role, text, made_by: by, made_at: at, uses: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .returning("hash")
      .executeTakeFirst();
    if (row)
      await appendEvent(tx, {
        at,
        actor: by,
        kind: "preamble-made",
        subject: `preamble:${hash}`,
        data: { kind, role, text },
      });
  });
}
