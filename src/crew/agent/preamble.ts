import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { appendEvent } from "../../store/events.ts";
import { countPreambleUse, findPreamble, insertPreamble, runWithRole } from "../../store/queries/preambles.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { putFile } from "../record/put-file.ts";
import { preamblePrompt, rules, standardPreamble } from "./planner-prompts.ts";
import { runWithoutTask } from "./run-without-task.ts";
import type { Staff } from "./staff.ts";

type Kind = "worker" | "qc";

const folder = "generated-agents";
const bounds = { toolCalls: 5, messages: 15 };

/** Ignores spacing and case of the role. */
export const preambleHash = (kind: Kind, role: string) =>
  createHash("sha256")
    .update(`${kind}\n${role.replaceAll(/\s+/g, " ").trim().toLowerCase()}`)
    .digest("hex")
    .slice(0, 16);

const making = new WeakMap<object, Map<string, Promise<Result<string>>>>();

/**
 * The system prompt of a role: its preamble and the rules of its part. An agent writes the preamble once per role.
 * The database has it; generated-agents/ has a copy to read. A file is not used as a prompt: a commit or an agent
 * could have put it there, for workers and verifiers alike.
 */
export async function preambleFor(
  crew: Staff,
  kind: Kind,
  role: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Result<string>> {
  const hash = preambleHash(kind, role);
  const file = join(crew.app.config.root, folder, `${kind}-${hash}.md`);
  const stored = await findPreamble(crew.app.db.read, hash);
  const text =
    stored && existsSync(file)
      ? ok(stored.text)
      : await oncePerProcess(crew, hash, () => make(crew, { kind, role, hash, file }, signal));
  if (!text.ok) return text;
  await crew.app.db.write((tx) => countPreambleUse(tx, hash));
  return ok(`${text.value.trim()}\n\n${rules[kind]}`);
}

/** Concurrent workers of one role share one preamble. */
function oncePerProcess(crew: Staff, hash: string, make: () => Promise<Result<string>>): Promise<Result<string>> {
  const waiting = making.get(crew.app.db) ?? new Map<string, Promise<Result<string>>>();
  making.set(crew.app.db, waiting);
  const there = waiting.get(hash);
  if (there) return there;
  const made = make().finally(() => waiting.delete(hash));
  waiting.set(hash, made);
  return made;
}

type Wanted = { kind: Kind; role: string; hash: string; file: string };

async function make(crew: Staff, wanted: Wanted, signal: AbortSignal): Promise<Result<string>> {
  const { app } = crew;
  const before = await findPreamble(app.db.read, wanted.hash);
  const written = before ? ok(true) : await write(crew, wanted, signal);
  if (!written.ok) return written;
  const text = (await findPreamble(app.db.read, wanted.hash))?.text ?? standardPreamble(wanted.kind, wanted.role);
  if (!existsSync(wanted.file)) await putFile(app.config.root, wanted.file, `${text.trim()}\n`);
  return ok(text);
}

/** Lets an agent write the preamble; if it writes none, stores the standard one. Refused when no agent can be started. */
async function write(crew: Staff, wanted: Wanted, signal: AbortSignal): Promise<Result<true>> {
  const run = await runWithRole(crew.app.db.read, wanted.role);
  if (run !== undefined) {
    const { system, prompt } = preamblePrompt(wanted.kind, wanted.role);
    const operations = [submitPreamble(wanted)];
    const ran = await runWithoutTask(
      crew,
      { part: "preamble", run, system, prompt, operations, delivers: "submit_preamble", bounds },
      signal,
    );
    if (ran.ok && !ran.value.hasBegun) return refuse("refused", ran.value.why);
  }
  await keep(crew.app, wanted, standardPreamble(wanted.kind, wanted.role), "standard");
  return ok(true);
}

const submitPreamble = (wanted: Wanted) =>
  operation({
    name: "submit_preamble",
    summary: "Submit the preamble that you wrote for this role.",
    guidance:
      "Plain text of 50 to 4,000 characters, addressed to the agent as you. It precedes every task of this role.",
    effect: "writes",
    touches: [],
    callers: ["agent"],
    group: "crew",
    input: z.object({ content: z.string().trim().min(50).max(4000).describe("The preamble") }),
    output: z.object({ hash: z.string() }),
    async run(app: CrewApp, { content }, caller) {
      await keep(app, wanted, content, caller.kind === "agent" ? (caller.crew?.agent ?? caller.role) : "agent");
      return ok({ hash: wanted.hash });
    },
  });

/** The first preamble that is stored counts, whichever process wrote it. */
async function keep(app: Staff["app"], { hash, kind, role }: Wanted, text: string, by: string): Promise<void> {
  const at = app.now().toISOString();
  await app.db.write(async (tx) => {
    if (await insertPreamble(tx, { hash, kind, role, text, made_by: by, made_at: at }))
      await appendEvent(tx, {
        at,
        actor: by,
        kind: "preamble-made",
        subject: `preamble:${hash}`,
        data: { kind, role, text },
      });
  });
}
