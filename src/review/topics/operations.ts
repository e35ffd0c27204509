import * as z from "zod";
import { type Caller, nameOf } from "../../kernel/caller.ts";
import { collaborators, everyone, operation, writers } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { noSuch } from "../../store/no-such.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import { revision, revisionsOf } from "../proposals/revisions.ts";
import type { ReviewApp } from "../review-app.ts";
import { describePlace } from "./anchor/place.ts";
import { sharedWords } from "./anchor/resemble.ts";
import { type Anchor, anchorAt, anchorFor } from "./anchor.ts";
import { refindTopics } from "./refind-topics.ts";
import type { Topic } from "./topic.ts";
import type { Message, Speaker } from "./topics.ts";

const longestMessage = 20_000;
const longestQuote = 20_000;
const enoughText = 24_000;
const enoughQuote = 4_000;

const id = z.string().max(64).describe("The topic's id, such as t-…");
const sourcePath = z.string().max(1000).describe("The page's path in the workspace, such as docs/deploy.md");
const text = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(longestMessage, `expected at most ${longestMessage} characters`)
  .refine((said) => !said.includes("\0"), "the message contains a NUL character")
  .describe("The message, in markdown");
const status = z.enum(["open", "resolved"]);
const kind = z.enum(["change", "question"]).describe("change wants the page edited, question wants an answer only");

const selection = {
  quote: z.string().max(longestQuote).optional().describe("The words of the page it is about, as they stand there"),
  nth: z.int().min(1).optional().describe("Which one, when the page says the words several times"),
  context: z.string().max(1000).optional().describe("Words that stand near the right one"),
  start: z.int().min(0).optional().describe("Instead of a quote: where it begins, in UTF-16 units of the page's text"),
  end: z.int().min(1).optional().describe("Where it ends; the character there is not part of it"),
  source_sha: z
    .string()
    .max(64)
    .optional()
    .describe("With start and end: the source_sha of the page they were counted in"),
};

const anchorShape = z.object({
  state: z.enum(["anchored", "moved", "needs-review", "orphaned"]),
  quote: z.string().describe("The words it points to; when orphaned, those it pointed to last"),
  source_sha: z.string().describe("The version of the page in which those words stood"),
  place: z
    .object({
      start: z.int(),
      end: z.int(),
      line: z.int(),
      end_line: z.int(),
      heading: z.string().describe("The heading above it"),
      text: z.string().describe("What stands there now"),
    })
    .nullable()
    .describe("Where that is in the page now; a guess when the state is needs-review; null when orphaned"),
  first_quote: z.string().optional().describe("What it pointed to at first, if that was something else"),
});

const topicShape = z.object({
  id: z.string(),
  source_path: z.string(),
  kind,
  status,
  created_by: z.string(),
  created_at: z.string(),
  resolved_by: z.string().nullable(),
  resolved_at: z.string().nullable(),
  message_count: z.int(),
  source_sha: z.string().nullable().describe("The page's version now; null when the page is gone"),
  anchor: anchorShape.nullable().describe("null when it is about the whole page"),
});

const messageShape = z.object({
  seq: z.int(),
  author: z.string(),
  author_kind: z.enum(["person", "agent"]),
  text: z.string(),
  at: z.string(),
  edited_at: z.string().nullable(),
});

const listed = topicShape.extend({ opening: z.string().describe("How it begins") });
const cursor = z.string().max(64).optional().describe("The cursor of the answer before, to go on from there");
const list = z.object({ topics: z.array(listed), cursor: z.string().optional() });

export const openTopic = operation({
  name: "open_topic",
  summary: "Open a topic on a page, about a passage or about the whole page.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  http: { method: "post", path: "/topics" },
  input: z.object({ source_path: sourcePath, kind: kind.default("change"), message: text, ...selection }),
  output: topicShape,
  async run(app: ReviewApp, { source_path, kind, message, ...chosen }, caller) {
    const page = await app.pages.read(source_path);
    if (!page.ok) return page;
    const anchor = anchorIn(page.value, chosen);
    if (!anchor.ok) return anchor;
    const opened = { page: page.value, kind, text: message, anchor: anchor.value };
    return ok(shown(await app.topics.open(opened, speaker(caller)), page.value));
  },
});

export const listTopics = operation({
  name: "list_topics",
  summary: "List topics, newest first, with where they point now.",
  effect: "reads",
  reads: ["topic", "page", "entry", "proposal", "job"],
  callers: ["reader", "collaborator", "admin"],
  http: { method: "get", path: "/topics" },
  input: z.object({
    source_path: sourcePath.optional(),
    status: status.optional().describe("Only open or only resolved ones"),
    kind: kind.optional(),
    limit: z.int().min(1).max(100).default(50).describe("How many at the most"),
    cursor,
  }),
  output: list,
  run: async (app: ReviewApp, { source_path: path, ...filter }) => ok(await listing(app, { path, ...filter })),
});

export const listOpenTopics = operation({
  name: "list_open_topics",
  summary: "List the open topics of one page, with where each points now.",
  guidance:
    "Read it before you rewrite a page: every other topic's words are how it is found again, so keep them, or re-anchor the topic after your change. `cursor` gives the rest.",
  effect: "reads",
  reads: ["topic", "page", "entry", "proposal"],
  callers: everyone,
  http: { method: "get", path: "/open-topics" },
  input: z.object({
    source_path: sourcePath,
    limit: z.int().min(1).max(100).default(30).describe("How many at the most"),
    cursor,
  }),
  output: list,
  async run(app: ReviewApp, { source_path, limit, cursor }) {
    const page = await app.pages.read(source_path);
    if (!page.ok && page.problem.code !== "not_found") return page;
    const found = await listing(app, { path: source_path, status: "open", limit, cursor });
    return page.ok || found.topics.length > 0 ? ok(found) : page;
  },
});

export const getTopic = operation({
  name: "get_topic",
  summary: "Read one topic: the page and passage it is about, and its messages in order.",
  guidance:
    "`anchor.place` says where the words are now, with line and heading; `source_sha` is the base for a proposal. `revisions` has what was proposed before and what people said to that. Long topics come in parts: ask again with `cursor` for the messages that follow.",
  effect: "reads",
  reads: ["topic", "page", "entry", "proposal", "job"],
  callers: everyone,
  http: { method: "get", path: "/topics/{id}" },
  input: z.object({
    id,
    cursor: z
      .string()
      .regex(/^\d{1,9}$/, "expected the cursor of an earlier answer")
      .optional()
      .describe("The cursor of the answer before, to go on from there"),
  }),
  output: topicShape.extend({
    messages: z.array(messageShape),
    cursor: z.string().optional(),
    revisions: z.array(revision).optional().describe("What was proposed for it so far, newest first"),
  }),
  async run(app: ReviewApp, { id, cursor }) {
    const found = await current(app, id);
    if (!found.ok) return found;
    const { topic, page } = found.value;
    const messages = fitting(await app.topics.messages(id, Number(cursor ?? 0), 100));
    const last = messages.at(-1)?.seq ?? topic.messages;
    const revisions = cursor === undefined ? await revisionsOf(app, id) : [];
    return ok({
      ...shown(topic, page),
      messages: messages.map(snakeKeys),
      ...(last < topic.messages ? { cursor: String(last) } : {}),
      ...(revisions.length > 0 ? { revisions } : {}),
    });
  },
});

export const replyTopic = operation({
  name: "reply_topic",
  summary: "Add a message to a topic.",
  guidance:
    "The way to answer a topic of kind `question`, and to say what you did or could not do about a `change`. It is signed with your role; it changes no page and resolves nothing.",
  effect: "writes",
  touches: ["topic"],
  callers: writers,
  http: { method: "post", path: "/topics/{id}/messages" },
  input: z.object({ id, text }),
  output: z.object({ id: z.string(), seq: z.int().describe("The message's number in its topic") }),
  async run(app: ReviewApp, { id, text }, caller) {
    const replied = await app.topics.reply(id, text, speaker(caller));
    return replied.ok ? ok({ id, seq: replied.value.seq }) : replied;
  },
});

export const editMessage = operation({
  name: "edit_message",
  summary: "Edit a message that you wrote.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  http: { method: "put", path: "/topics/{id}/messages/{seq}" },
  input: z.object({ id, seq: z.coerce.number().int().min(1).describe("The message's number"), text }),
  output: messageShape,
  async run(app: ReviewApp, { id, seq, text }, caller) {
    const edited = await app.topics.edit(id, seq, text, speaker(caller));
    return edited.ok ? ok(snakeKeys(edited.value)) : edited;
  },
});

export const resolveTopic = operation({
  name: "resolve_topic",
  summary: "Resolve a topic: what it asked for is done or not wanted.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  http: { method: "post", path: "/topics/{id}/resolve" },
  input: z.object({ id }),
  output: topicShape,
  run: (app: ReviewApp, { id }, caller) => settled(app, () => app.topics.resolve(id, speaker(caller))),
});

export const reopenTopic = operation({
  name: "reopen_topic",
  summary: "Open a resolved topic again; its passage is looked for in the page of now.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  http: { method: "post", path: "/topics/{id}/reopen" },
  input: z.object({ id }),
  output: topicShape,
  run: (app: ReviewApp, { id }, caller) => settled(app, () => app.topics.reopen(id, speaker(caller))),
});

export const reanchorTopic = operation({
  name: "reanchor_topic",
  summary: "Point a topic at the passage it is about now.",
  guidance:
    "For topics whose state is `needs-review` or `orphaned`: quote the words of the page as it is now that took the place of the old ones. It is refused when those words are not there or have too little in common with the old ones.",
  effect: "writes",
  touches: ["topic"],
  callers: writers,
  http: { method: "post", path: "/topics/{id}/anchor" },
  input: z.object({ id, ...selection }),
  output: topicShape,
  async run(app: ReviewApp, { id, ...chosen }, caller) {
    const found = await current(app, id);
    if (!found.ok) return found;
    const { topic, page } = found.value;
    if (!page) return refuse("not_found", `page ${topic.path} of topic ${id} was deleted`);
    const anchor = anchorIn(page, chosen);
    if (!anchor.ok) return anchor;
    if (!anchor.value) return refuse("invalid", "missing passage: send quote, or start, end and source_sha");
    const verified = caller.kind === "agent" ? verify(topic, anchor.value) : ok(true);
    if (!verified.ok) return verified;
    const moved = await app.topics.reanchor(id, page, anchor.value, speaker(caller));
    return moved.ok ? ok(shown(moved.value, page)) : moved;
  },
});

export const speaker = (caller: Caller): Speaker => ({ name: nameOf(caller), kind: caller.kind });

type Chosen = { [K in keyof typeof selection]?: z.infer<(typeof selection)[K]> };

/** The chosen passage in the present page; undefined for the whole page. */
function anchorIn({ text, blob, path }: Page, chosen: Chosen): Result<Anchor | undefined> {
  const { quote, nth, context, start, end } = chosen;
  if (quote !== undefined && start !== undefined)
    return refuse("invalid", "send either quote, or start and end, not both");
  if (quote !== undefined) return anchorFor(text, quote, { blob, nth, context });
  if (start === undefined && end === undefined) {
    return nth === undefined && context === undefined
      ? ok(undefined)
      : refuse("invalid", "nth and context need a quote");
  }
  if (start === undefined || end === undefined || chosen.source_sha === undefined) {
    return refuse("invalid", "start and end need each other, and the source_sha of the page they refer to");
  }
  if (chosen.source_sha !== blob) {
    return refuse("conflict", `${path} changed since you selected the passage; select it again`, {
      source_sha: blob,
    });
  }
  if (start >= end || end > text.length) {
    return refuse("invalid", `start must be before end, and end at most ${text.length}, the length of the page`);
  }
  if (end - start > longestQuote)
    return refuse("invalid", `the passage is longer than ${longestQuote} characters; select less`);
  return ok(anchorAt(text, start, end, blob));
}

const alike = 0.5;
const alikeInPlace = 0.3;

/** Agents may only re-anchor topics whose anchor is lost or uncertain. */
function verify({ id, anchor }: Topic, claimed: Anchor): Result<true> {
  if (!anchor)
    return refuse("refused", `topic ${id} is about the whole page; only a person may anchor it to a passage`);
  if (anchor.state === "anchored" || anchor.state === "moved") {
    return refuse("refused", `the passage of topic ${id} was found; only a person may move the topic`);
  }
  const { place } = anchor;
  const touches = place !== undefined && place.start < claimed.end && claimed.start < place.end;
  if (sharedWords(anchor.at.quote, claimed.quote) >= (touches ? alikeInPlace : alike)) return ok(true);
  return refuse("refused", `the new passage differs too much from the old one of topic ${id}`, {
    quote: anchor.at.quote,
    next: [{ operation: "reply_topic", input: { id }, to: "tell people where the passage went" }],
  });
}

/** A topic with its anchor updated to the present page. */
async function current(app: ReviewApp, id: string): Promise<Result<{ topic: Topic; page: Page | undefined }>> {
  const before = await app.topics.find(id);
  if (!before) return noSuch(app.db.read, "topic", id);
  const page = await refindTopics(app, before.path);
  const topic = (await app.topics.find(id)) ?? before;
  if (topic.path === before.path) return ok({ topic, page });
  const followed = await app.pages.read(topic.path);
  return ok({ topic, page: followed.ok ? followed.value : undefined });
}

async function settled(
  app: ReviewApp,
  settle: () => Promise<Result<Topic>>,
): Promise<Result<z.infer<typeof topicShape>>> {
  const done = await settle();
  if (!done.ok) return done;
  const found = await current(app, done.value.id);
  return found.ok ? ok(shown(found.value.topic, found.value.page)) : found;
}

type Filter = Parameters<ReviewApp["topics"]["list"]>[0];

async function listing(app: ReviewApp, filter: Omit<Filter, "after"> & { cursor?: string | undefined }) {
  const { cursor, ...rest } = filter;
  const wanted = { ...rest, after: cursor, limit: filter.limit + 1 };
  const pages = new Map<string, Page | undefined>();
  if (filter.path !== undefined) pages.set(filter.path, await refindTopics(app, filter.path));
  let found = await app.topics.list(wanted);
  const unseen = [...new Set(found.map((topic) => topic.path))].filter((path) => !pages.has(path));
  for (const path of unseen) pages.set(path, await refindTopics(app, path));
  if (unseen.length > 0) found = await app.topics.list(wanted);

  const topics = found.slice(0, filter.limit);
  const openings = await app.topics.openings(topics.map((topic) => topic.id));
  const last = found.length > filter.limit ? topics.at(-1)?.id : undefined;
  return {
    topics: topics.map((topic) => ({
      ...shown(topic, pages.get(topic.path)),
      opening: cut(openings.get(topic.id)?.text ?? "", 300),
    })),
    ...(last ? { cursor: last } : {}),
  };
}

function shown(topic: Topic, page: Page | undefined): z.infer<typeof topicShape> {
  const { messages, seenBlob: _, anchor, path, ...rest } = topic;
  return {
    ...snakeKeys(rest),
    source_path: path,
    message_count: messages,
    source_sha: page?.blob ?? null,
    anchor: anchor && {
      state: anchor.state,
      quote: cut(anchor.at.quote, enoughQuote),
      source_sha: anchor.at.blob,
      place: placed(topic, page),
      ...(anchor.firstQuote === anchor.at.quote ? {} : { first_quote: cut(anchor.firstQuote, enoughQuote) }),
    },
  };
}

/** Offsets are valid only in the text that they were computed for. */
function placed({ anchor, seenBlob }: Topic, page: Page | undefined) {
  if (!page || !anchor?.place || seenBlob !== page.blob) return null;
  const { start, end } = anchor.place;
  const place = snakeKeys(describePlace(page.text, anchor.place));
  return { start, end, ...place, text: cut(page.text.slice(start, end), enoughQuote) };
}

/** As many messages as fit into a response, at least one. */
function fitting(messages: Message[]): Message[] {
  let room = enoughText;
  return messages.filter((message, i) => {
    room -= message.text.length;
    return i === 0 || room >= 0;
  });
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);
