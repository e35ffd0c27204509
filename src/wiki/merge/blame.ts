import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { boundedDiff, newBudget } from "../../kernel/bounded-diff.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { Threads, ThreadTask } from "../../kernel/threads/threads.ts";
import { sectionId } from "../schema.ts";
import type { WikiApp } from "../wiki-app.ts";

/** For each line of the last text, the index of the text that first had it. */
export async function blame(texts: string[], threads: Threads): Promise<Result<number[]>> {
  let known: Blamed = { origins: [], left: newBudget().left };
  let before = "";
  for (const [index, after] of texts.entries()) {
    const found = await threads.run(blameTask, { ...known, before, after, index });
    if (!found.ok) return found;
    known = found.value;
    before = after;
    // Other requests get a turn between two small diffs, which are not made in a thread.
    await setImmediate();
  }
  return ok(known.origins);
}

/** The origins of the lines of one text, and the comparisons that are left for the following ones. */
type Blamed = { origins: number[]; left: number };

/** Continues the origins of `before` in the next text. */
export const blameTask: ThreadTask<Blamed & { before: string; after: string; index: number }, Blamed> = {
  name: "blame",
  doing: "finding the version of each line",
  size: ({ before, after }) => before.length + after.length,
  run({ before, after, index, origins, left }) {
    const budget = { left };
    const next: number[] = [];
    let at = 0;
    for (const { kind, items } of boundedDiff(linesOf(before), linesOf(after), budget)) {
      for (let nth = 0; nth < items.length && kind !== "removed"; nth++)
        next.push(kind === "added" ? index : (origins[at + nth] ?? index));
      if (kind !== "added") at += items.length;
    }
    return { origins: next, left: budget.left };
  },
};

const linesOf = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

const mostVersions = 200;

export const entryBlame = operation({
  name: "entry_blame",
  summary: "Show the version and author of each line of an entry.",
  effect: "reads",
  reads: ["entry"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/entries/{id}/blame" },
  input: z.object({ id: sectionId.describe("Id of the entry") }),
  output: z.object({
    lines: z.array(z.object({ text: z.string(), version: z.int() })),
    versions: z.array(
      z.object({
        version: z.int(),
        author: z.string(),
        role: z.string().nullable(),
        run: z.string().nullable(),
        task: z.string().nullable(),
        at: z.string(),
      }),
    ),
    truncated: z.boolean().describe("true if older versions were left out; their lines have the oldest version shown"),
  }),
  async run(app: WikiApp, { id }, caller) {
    const entry = await app.knowledge(caller).fetchEntry(id);
    if (!entry.ok) return entry;
    const history = (await app.entries.history(id, mostVersions)).reverse();
    const known: { text: string; about: (typeof history)[number] }[] = [];
    for (const about of history) {
      const isLast = about.version === entry.value.version;
      const text = isLast ? entry.value.content : await app.entries.contentAt(id, about.version);
      if (text !== undefined) known.push({ text, about });
    }
    const origins = await blame(
      known.map(({ text }) => text),
      app.threads,
    );
    if (!origins.ok) return origins;
    return ok({
      lines: linesOf(entry.value.content).map((text, at) => ({
        text,
        version: known[origins.value[at] ?? 0]?.about.version ?? 0,
      })),
      versions: known.map(({ about: { version, author, role, run, task, at } }) => ({
        version,
        author,
        role,
        run,
        task,
        at,
      })),
      truncated: history.length === mostVersions && (history[0]?.version ?? 1) > 1,
    });
  },
});
