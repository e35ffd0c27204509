import { posix } from "node:path";
import * as z from "zod";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { pageName, passageName } from "../trust/operations.ts";
import { type Place, placeOf } from "./passage-place.ts";
import { proposePage } from "./proposals/propose.ts";
import type { ReviewApp } from "./review-app.ts";
import { mentioned, speaker } from "./topics/operations.ts";

const named = z.object({ id: pageName, passage: passageName });
const longestSaid = 600;

export const mergePassages = operation({
  name: "merge_passages",
  summary: "Propose to keep one of several passages that say the same, and to link to it from the others.",
  effect: "writes",
  touches: ["proposal", "topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/passages/merge" },
  input: z.object({
    keep: named.describe("The passage that stays"),
    remove: z.array(named).min(1).max(50).describe("The passages that it replaces"),
    message: z.string().trim().max(4000).optional().describe("Why, for the person who decides"),
  }),
  output: z.object({
    proposals: z.array(z.object({ id: z.string(), topic_id: z.string(), source_path: z.string(), passages: z.int() })),
  }),
  async run(app: ReviewApp, { keep, remove, message }, caller) {
    const kept = await placeOf(app, keep.id, keep.passage);
    if (!kept.ok) return kept;
    const pages = new Map<string, Place[]>();
    for (const { id, passage } of remove) {
      const place = await placeOf(app, id, passage);
      if (!place.ok) return place;
      const { page, subject, hash } = place.value;
      if (subject === kept.value.subject && hash === kept.value.hash)
        return refuse("invalid", `remove: ${passage} of ${page.path} is the passage to keep`);
      if (page.entry?.mode === "log")
        return refuse(
          "invalid",
          `${page.path} is a log, whose lines do not change; keep that passage and remove others`,
        );
      const others = pages.get(page.path) ?? [];
      if (!others.some((one) => one.hash === hash)) pages.set(page.path, [...others, place.value]);
    }
    const proposals = [];
    for (const [path, places] of pages) {
      const [{ page }] = places as [Place];
      const text = without(page.text, places, linkTo(path, kept.value.page.path));
      const said = words(kept.value, places, message);
      const mentions = await mentioned(app, said);
      const topic = app.topics.begin(
        { page, kind: "change", text: said, anchor: undefined, mentions },
        speaker(caller),
      );
      const asked = { baseSha: page.blob, text };
      const made = await proposePage(app, topic.topic, asked, caller, { openTopic: topic.save });
      if (!made.ok) return made;
      proposals.push({ id: made.value.id, topic_id: topic.topic.id, source_path: path, passages: places.length });
    }
    return ok({ proposals });
  },
});

/** Undefined for the same page, which needs no link. */
function linkTo(from: string, to: string): string | undefined {
  if (from === to) return undefined;
  const address = posix.relative(posix.dirname(from), to);
  return `See [${to}](${/[\s()<>]/.test(address) ? `<${address}>` : address}).`;
}

/** A paragraph or list item becomes the link; a row of a table, which has no room for it, goes. */
function without(text: string, places: readonly Place[], link: string | undefined): string {
  let result = text;
  for (const { text: passage, at } of places.toSorted((a, b) => b.at - a.at)) {
    const marker = /^(?:[-*+]|\d{1,9}[.)])\s+/.exec(passage)?.[0] ?? "";
    const isRow = passage.startsWith("|");
    const end = at + passage.length;
    if (link !== undefined && !isRow) result = result.slice(0, at) + marker + link + result.slice(end);
    else {
      // With its line break, and a blank line that stood around it.
      const start = result.lastIndexOf("\n", at - 1) + 1;
      const rest = result.slice(end).replace(/^[^\S\n]*\n/, "");
      const before = result.slice(0, start);
      result = before + (before.endsWith("\n\n") || before === "" ? rest.replace(/^\n+/, "") : rest);
    }
  }
  return result;
}

const words = (kept: Place, places: readonly Place[], message: string | undefined): string =>
  [
    `Keep one of ${places.length + 1} passages: that of \`${kept.page.path}\`.`,
    ...(message ? [message] : []),
    `Kept:\n\n${quoted(kept.text)}`,
    ...places.map(({ text }) => `Removed here:\n\n${quoted(text)}`),
  ].join("\n\n");

const quoted = (text: string) =>
  text
    .slice(0, longestSaid)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
