import * as z from "zod";
import { operation, people } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { presentPassages } from "../store/queries/trust.ts";
import { findDuplicates } from "./duplicates.ts";
import { cut, stateShape } from "./shown.ts";
import type { TrustState } from "./state.ts";
import type { TrustApp } from "./trust-app.ts";

const mostPassages = 500_000;
const longestText = 300;
const mostShown = 20;

export const listDuplicates = operation({
  name: "list_duplicates",
  summary: "Find passages of the wiki that say nearly the same, or the same with other values.",
  guidance:
    "merge_passages proposes to keep one of them. It compares for `seconds` at most; `complete` says whether that was enough.",
  effect: "reads",
  reads: ["trust", "entry", "page"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/passages/duplicates" },
  input: z.object({
    under: z.string().max(200).optional().describe("Only groups with a passage of this entry or folder of entries"),
    similarity: z
      .number()
      .min(0.3)
      .max(1)
      .default(0.6)
      .describe("Share of common three-word sequences from which passages are alike"),
    seconds: z.int().min(1).max(120).default(20).describe("Time limit"),
    limit: z.int().min(1).max(500).default(50).describe("Maximum number of groups"),
  }),
  output: z.object({
    groups: z.array(
      z.object({
        kind: z.enum(["same", "contradicting"]),
        similarity: z.number().describe("Of the least similar two that were compared"),
        passages: z.array(
          z.object({ source_path: z.string(), passage: z.string(), text: z.string(), state: stateShape }),
        ),
        omitted: z.int().describe("Number of passages of the group that are left out"),
      }),
    ),
    compared: z.int().describe("Number of passages"),
    complete: z.boolean().describe("Whether all passages were compared and all groups are listed"),
  }),
  async run(app: TrustApp, { under, similarity, seconds, limit }) {
    await app.trust.refresh();
    const rows = await presentPassages(app.db.read, mostPassages);
    const known = new Map(rows.map((row) => [`${row.subject}#${row.hash}`, row]));
    const candidates = [...known].map(([id, { text }]) => ({ id, text }));
    const isUnder = (id: string) => {
      const subject = known.get(id)?.subject ?? "";
      return under === undefined || subject === `entry:${under}` || subject.startsWith(`entry:${under}/`);
    };
    const found = await findDuplicates(candidates, { similarity, ms: seconds * 1000, most: Number.POSITIVE_INFINITY });
    const wanted = found.groups.filter(({ ids }) => ids.some(isUnder));
    const groups = wanted.slice(0, limit).map(({ kind, similarity, ids }) => ({
      kind,
      similarity,
      passages: ids.slice(0, mostShown).flatMap((id) => {
        const row = known.get(id);
        if (!row) return [];
        const { subject, hash, text, state } = row;
        return {
          source_path: app.trust.pathOf(subject),
          passage: hash,
          text: cut(text, longestText),
          state: state as TrustState,
        };
      }),
      omitted: Math.max(0, ids.length - mostShown),
    }));
    const isWhole = found.complete && rows.length < mostPassages && wanted.length <= limit;
    return ok({ groups, compared: found.compared, complete: isWhole });
  },
});
