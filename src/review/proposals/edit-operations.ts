import * as z from "zod";
import { collaborators, operation } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import type { ReviewApp } from "../review-app.ts";
import { mentioned, speaker } from "../topics/operations.ts";
import { proposePage } from "./propose.ts";

export const proposeEdit = operation({
  name: "propose_edit",
  summary: "Propose your own new text of a page, for an open topic or with a new one.",
  effect: "writes",
  touches: ["proposal", "topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/edits" },
  input: z.object({
    source_path: z.string().max(1000).describe("Path of the page, such as docs/deploy.md"),
    base_sha: z
      .string()
      .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "expected the 40 or 64 hexadecimal digits of a git blob")
      .describe("source_sha of the text that you started from"),
    content: z.string().describe("The entire new content of the page, frontmatter included"),
    message: z
      .string()
      .trim()
      .min(1, "say what you changed and why")
      .max(20_000)
      .optional()
      .describe("What you changed and why, in markdown: the first message of the new topic, or a reply in the topic"),
    topic_id: z.string().max(64).optional().describe("The open topic that the change is for; default: a new topic"),
  }),
  output: z.object({
    id: z.string(),
    status: z.literal("open"),
    topic_id: z.string(),
    source_path: z.string(),
    revision_number: z.int(),
    base_moved: z.boolean().describe("true if the page changed since base_sha"),
  }),
  async run(app: ReviewApp, { source_path, base_sha, content: text, message, topic_id }, caller) {
    const page = await app.pages.read(source_path);
    if (!page.ok) return page;
    const given = topic_id === undefined ? undefined : await app.topics.find(topic_id);
    if (topic_id !== undefined && !given) return noSuch(app.db.read, "topic", topic_id);
    if (given && given.path !== source_path)
      return refuse("invalid", `topic_id: topic ${given.id} is about ${given.path}, not ${source_path}`);
    if (!given && message === undefined) return refuse("invalid", "message: say what you changed and why");
    const fresh = given
      ? undefined
      : app.topics.begin(
          {
            page: page.value,
            kind: "change",
            text: message ?? "",
            anchor: undefined,
            mentions: await mentioned(app, message ?? ""),
          },
          speaker(caller),
        );
    const topic = given ?? fresh?.topic;
    if (!topic) throw new Error("a proposal needs a topic");
    const made = await proposePage(app, topic, { baseSha: base_sha, text }, caller, {
      ...(fresh ? { openTopic: fresh.save } : {}),
      ...(given && message !== undefined ? { message } : {}),
    });
    if (!made.ok) return made;
    return ok({
      id: made.value.id,
      status: "open" as const,
      topic_id: topic.id,
      source_path,
      revision_number: made.value.revisionNumber ?? 1,
      base_moved: page.value.blob !== base_sha,
    });
  },
});
