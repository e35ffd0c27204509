import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { operation, writers } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { appendEvent } from "../store/events.ts";
import { decisionsOn, insertDecision } from "../store/queries/trust.ts";
import { pageName, passageName, passageOf } from "../trust/operations.ts";
import { passageShape } from "../trust/shown.ts";
import type { ReviewApp } from "./review-app.ts";
import { anchorAt } from "./topics/anchor.ts";
import { mentioned, speaker } from "./topics/operations.ts";

const mostQuestions = 3;

export const disputePassage = operation({
  name: "dispute_passage",
  summary: "Dispute a passage that is wrong; a topic is opened on it.",
  guidance:
    "For a passage that your sources, the repository or another passage contradict. An agent's dispute is a question to people: it does not change the state. Say what is right and where that is written.",
  effect: "writes",
  touches: ["trust", "topic", "entry"],
  callers: writers,
  group: "review",
  http: { method: "post", path: "/passages/dispute" },
  input: z.object({
    id: pageName,
    passage: passageName,
    why: z.string().trim().min(1, "expected the reason").max(4000).describe("What is wrong, and how you know"),
  }),
  output: z.object({ source_path: z.string(), topic_id: z.string(), passage: passageShape }),
  async run(app: ReviewApp, { id, passage, why }, caller) {
    const found = await passageOf(app, id, passage);
    if (!found.ok) return found;
    const { subject, path, hash, text } = found.value;
    const page = await app.pages.read(path);
    if (!page.ok) return page;
    const isPerson = caller.kind === "person";
    const asked = (await decisionsOn(app.db.read, subject)).filter(
      (one) => one.hash === hash && one.kind === "question",
    );
    const open = asked.filter(({ topic_id }) => topic_id !== null && found.value.shown.topics.includes(topic_id));
    if (!isPerson && open.length >= mostQuestions)
      return refuse("conflict", `people were asked about this passage already, in topic ${open.at(-1)?.topic_id}`);
    const at = page.value.text.indexOf(text);
    const anchor = at < 0 ? undefined : anchorAt(page.value.text, at, at + text.length, page.value.blob);
    const mentions = isPerson ? await mentioned(app, why) : [];
    const kind = isPerson ? "change" : "question";
    const { topic, save } = app.topics.begin({ page: page.value, kind, text: why, anchor, mentions }, speaker(caller));
    const now = app.now().toISOString();
    const by = nameOf(caller);
    await app.db.write(async (tx) => {
      await save(tx);
      await insertDecision(tx, {
        id: app.newId("pd"),
        subject,
        hash,
        kind: isPerson ? "dispute" : "question",
        by_name: by,
        note: why,
        at: now,
        stale_after: null,
        topic_id: topic.id,
      });
      const data = { passage: hash, text: text.slice(0, 200), why, topic_id: topic.id, asked: !isPerson };
      await appendEvent(tx, { at: now, actor: by, kind: "passage-disputed", subject, data });
    });
    const after = await passageOf(app, id, hash);
    return after.ok ? ok({ source_path: path, topic_id: topic.id, passage: after.value.shown }) : after;
  },
});
