import * as z from "zod";
import { type Operation, operation } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { filePath } from "../rules/plan.ts";

/** The changes of one deliverable, of all files or of one. */
export type DeliverableDiff = (path: string | undefined) => Promise<string>;

/** Lets a verifier read what a worker changed. It shows the delivered commit, never the scratch copy. */
export const diffTool = (diff: DeliverableDiff): Operation<CrewApp> =>
  operation({
    name: "show_diff",
    summary: "Show what the deliverable changes, as a unified diff against the accepted work.",
    guidance: "`of` is the number of lines in the diff: read longer ones in parts with `from` and `lines`.",
    effect: "reads",
    reads: [],
    callers: ["agent"],
    group: "crew",
    input: z.object({
      path: filePath.optional().describe("Only this file"),
      from: z.int().min(1).default(1).describe("First line"),
      lines: z.int().min(1).max(2000).default(400).describe("Number of lines"),
    }),
    output: z.object({ diff: z.string(), from: z.int(), of: z.int() }),
    async run(_app, { path, from, lines }) {
      const text = await diff(path);
      const all = text === "" ? [] : text.split("\n");
      return ok({ diff: all.slice(from - 1, from - 1 + lines).join("\n"), from, of: all.length });
    },
  });
