import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, everyone, operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { appendEvent } from "../store/events.ts";
import { insertDecision, listTrustRows } from "../store/queries/trust.ts";
import { countsShape, passageShape, type ShownPassage, shownPassage, stateShape } from "./shown.ts";
import { isDoubtful } from "./state.ts";
import type { TrustApp } from "./trust-app.ts";

const longestText = 2000;
const longestExcerpt = 300;

export const pageName = z
  .string()
  .min(1)
  .max(400)
  .describe("Id of an entry, such as vision, or path of a page, such as docs/deploy.md");
export const passageName = z
  .string()
  .min(6)
  .max(64)
  .describe("Id of the passage from get_trust or list_trust; its first characters are enough");

export const getTrust = operation({
  name: "get_trust",
  summary: "Show which passages of a page can be relied on, and why.",
  guidance:
    "Passages with state, causes, writer, verification and cited sources. Use it before you rely on a page that fetch_entry reports doubts about. `states` narrows it, such as to stale, disputed and withdrawn.",
  effect: "reads",
  reads: ["trust", "entry", "page", "topic"],
  callers: everyone,
  group: "review",
  http: { method: "get", path: "/passages/of-page" },
  input: z.object({
    id: pageName,
    states: z.array(stateShape).max(6).optional().describe("Only passages in these states"),
    doubtful: z.boolean().default(false).describe("Only passages that lost their trust"),
    limit: z.int().min(1).max(2000).default(500).describe("Maximum number of passages"),
  }),
  output: z.object({
    source_path: z.string(),
    counts: countsShape,
    passages: z.array(passageShape).describe("In the order of the page"),
    omitted: z.int(),
  }),
  async run(app: TrustApp, { id, states, doubtful, limit }, caller) {
    const page = await app.trust.page(id);
    if (!page.ok) return page;
    const { path, counts, passages } = page.value;
    const wanted = passages.filter(
      ({ state, lost }) =>
        (states === undefined || states.includes(state)) && (!doubtful || isDoubtful(state) || lost !== null),
    );
    // An agent reads a page with fetch_entry, which counts its reads.
    const longest = caller.kind === "agent" ? 120 : longestText;
    const shown = wanted.slice(0, caller.kind === "agent" ? Math.min(limit, 50) : limit);
    return ok({
      source_path: path,
      counts,
      passages: shown.map((one) => ({ ...one, text: one.text.slice(0, longest) })),
      omitted: wanted.length - shown.length,
    });
  },
});

const listed = passageShape.extend({
  source_path: z.string(),
  id: z.string().nullable().describe("Id of the entry; null for another page"),
});

export const listTrust = operation({
  name: "list_trust",
  summary: "List passages by trust: by default those that lost it and need to be checked again, newest loss first.",
  effect: "reads",
  reads: ["trust", "entry", "page", "topic"],
  callers: everyone,
  group: "review",
  http: { method: "get", path: "/passages" },
  input: z.object({
    states: z.array(stateShape).max(6).optional().describe("Passages in these states; default: what lost its trust"),
    under: z.string().max(200).optional().describe("Only this entry or folder of entries"),
    limit: z.int().min(1).max(200).default(50).describe("Maximum number of passages"),
    cursor: z.string().max(100).optional().describe("Cursor of the previous answer, for the next page"),
  }),
  output: z.object({
    passages: z.array(listed),
    pages: z.array(z.object({ source_path: z.string(), count: z.int() })).describe("Passages of this answer by page"),
    cursor: z.string().optional(),
  }),
  async run(app: TrustApp, { states, under, limit, cursor }) {
    await app.trust.refresh();
    const before = cursor === undefined ? undefined : cursorFrom(cursor);
    if (cursor !== undefined && !before) return refuse("invalid", `cursor: ${JSON.stringify(cursor)} is not a cursor`);
    const rows = await listTrustRows(app.db.read, {
      states: states ?? ["stale", "disputed", "withdrawn"],
      lost: states === undefined,
      under,
      before,
      limit: limit + 1,
    });
    const shown = rows.slice(0, limit);
    const about = await app.trust.about(shown.map(({ subject }) => subject));
    const passages = shown.map((row) => ({
      ...shownPassage(row, { ...about, longest: longestExcerpt }),
      source_path: app.trust.pathOf(row.subject),
      id: row.subject.startsWith("entry:") ? row.subject.slice("entry:".length) : null,
    }));
    const counts = new Map<string, number>();
    for (const { source_path } of passages) counts.set(source_path, (counts.get(source_path) ?? 0) + 1);
    const last = shown.at(-1);
    return ok({
      passages,
      pages: [...counts].map(([source_path, count]) => ({ source_path, count })),
      ...(rows.length > limit && last ? { cursor: `${last.since}~${last.hash}` } : {}),
    });
  },
});

function cursorFrom(cursor: string): { since: string; hash: string } | undefined {
  const [since, hash] = cursor.split("~");
  return since && hash ? { since, hash } : undefined;
}

export const verifyPassage = operation({
  name: "verify_passage",
  summary: "Verify a passage: you have checked that it is true.",
  effect: "writes",
  touches: ["trust", "entry"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/passages/verify" },
  decision: true,
  input: z.object({
    id: pageName,
    passage: passageName,
    note: z.string().trim().max(2000).default("").describe("What you checked it against"),
    stale_after: z.iso.date().optional().describe("The day from which it must be checked again, such as 2027-01-31"),
  }),
  output: z.object({ source_path: z.string(), passage: passageShape }),
  async run(app: TrustApp, { id, passage, note, stale_after }, caller) {
    const found = await passageOf(app, id, passage);
    if (!found.ok) return found;
    const { subject, path, hash, text } = found.value;
    const at = app.now().toISOString();
    if (stale_after !== undefined && stale_after <= at.slice(0, 10))
      return refuse("invalid", `stale_after: ${stale_after} is not after today`);
    const by = nameOf(caller);
    await app.db.write(async (tx) => {
      const until = stale_after ?? null;
      const decision = {
        subject,
        hash,
        kind: "verify",
        by_name: by,
        note,
        at,
        stale_after: until,
        topic_id: null,
      } as const;
      await insertDecision(tx, { id: app.newId("pd"), ...decision });
      const data = { passage: hash, text: text.slice(0, 200), note, stale_after: until };
      await appendEvent(tx, { at, actor: by, kind: "passage-verified", subject, data });
    });
    const after = await passageOf(app, id, hash);
    return after.ok ? ok({ source_path: path, passage: after.value.shown }) : after;
  },
});

/** The passage of a page whose id is, or begins with, `name`. */
export async function passageOf(
  app: TrustApp,
  id: string,
  name: string,
): Promise<Result<{ subject: string; path: string; hash: string; text: string; shown: ShownPassage }>> {
  const page = await app.trust.page(id);
  if (!page.ok) return page;
  const { subject, path, passages } = page.value;
  const [found, second] = passages.filter((one) => one.passage.startsWith(name));
  const next = [{ operation: "get_trust" as const, input: { id }, to: "list its passages" }];
  if (!found) return refuse("not_found", `${path} has no passage ${name}; its text may have changed`, { next });
  if (second && second.passage !== found.passage)
    return refuse("invalid", `passage: ${name} begins the ids of several passages of ${path}; give more of it`, {
      next,
    });
  return ok({ subject, path, hash: found.passage, text: found.text, shown: found });
}
