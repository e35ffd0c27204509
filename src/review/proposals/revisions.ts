import * as z from "zod";
import { snakeKeys } from "../../kernel/wire.ts";
import type { ReviewApp } from "../review-app.ts";
import { impactInput, impactTask } from "./impact.ts";

/** An earlier proposal for a topic, as context for the next one. */
export const revision = z.object({
  id: z.string(),
  revision_number: z.int(),
  status: z.string(),
  base_source_sha: z.string().describe("The git blob id of the text it was made from"),
  note: z.string().nullable().describe("What the person said when they decided"),
  comments: z.array(z.object({ author: z.string(), content: z.string(), wants_revision: z.boolean(), at: z.string() })),
  diff: z.string().describe("What it changed; cut when it is long"),
});

const mostRevisions = 3;
const longestDiff = 12_000;

/** The last proposals for a topic with people's comments, newest first. */
export async function revisionsOf(app: ReviewApp, topicId: string): Promise<z.infer<typeof revision>[]> {
  const latest = (await app.proposals.list(undefined, topicId)).slice(0, mostRevisions);
  return Promise.all(
    latest.map(async ({ id, revisionNumber, status, baseSourceSha, note }) => {
      const whole = await app.proposals.find(id);
      const base = { text: whole?.baseText ?? "", blob: whole?.baseSourceSha ?? "" };
      const impact = whole && (await app.threads.run(impactTask, impactInput(whole, base)));
      const diff = !impact ? "" : impact.ok ? impact.value.diff : `[${impact.problem.message}]`;
      const comments = (await app.proposals.comments(id)).map(({ id: _id, ...said }) => snakeKeys(said)).slice(-20);
      const shown = diff.length > longestDiff ? `${diff.slice(0, longestDiff)}\n[cut]\n` : diff;
      return {
        id,
        revision_number: revisionNumber ?? 0,
        status,
        base_source_sha: baseSourceSha ?? "",
        note,
        comments,
        diff: shown,
      };
    }),
  );
}
