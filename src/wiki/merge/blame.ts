import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { boundedDiff, newBudget } from "../../kernel/bounded-diff.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { sectionId } from "../schema.ts";
import type { WikiApp } from "../wiki-app.ts";

/** For each line of the last text, the index of the text that first had it. */
export async function blame(texts: string[]): Promise<number[]> {
  const budget = newBudget();
  let lines: string[] = [];
  let origins: number[] = [];
  for (const [index, text] of texts.entries()) {
    const fresh = text === "" ? [] : text.replace(/\n$/, "").split("\n");
    const next: number[] = [];
    let at = 0;
    for (const { kind, items } of boundedDiff(lines, fresh, budget)) {
      for (let nth = 0; nth < items.length && kind !== "removed"; nth++)
        next.push(kind === "added" ? index : (origins[at + nth] ?? index));
      if (kind !== "added") at += items.length;
    }
    lines = fresh;
    origins = next;
    // Other requests get a turn between two diffs.
    await setImmediate();
  }
  return origins;
}

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
    const origins = await blame(known.map(({ text }) => text));
    const lines = entry.value.content === "" ? [] : entry.value.content.replace(/\n$/, "").split("\n");
    return ok({
      lines: lines.map((text, at) => ({ text, version: known[origins[at] ?? 0]?.about.version ?? 0 })),
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
