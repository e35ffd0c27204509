import * as z from "zod";
import { type Caller, nameOf } from "../../kernel/caller.ts";
import { suggest } from "../../kernel/nearest.ts";
import { collaborators, everyone, operation, people, writers } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { knownNames } from "../../people/names.ts";
import { noSuch } from "../../store/no-such.ts";
import { assigneesOf, findAssignment } from "../../store/queries/assignments.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import { revision, revisionsOf } from "../proposals/revisions.ts";
import type { ReviewApp } from "../review-app.ts";
import { placesIn } from "./anchor/place.ts";
import { sharedWords } from "./anchor/resemble.ts";
import type { Span } from "./anchor/views.ts";
import { type Anchor, anchorFor } from "./anchor.ts";
import { mentionsIn } from "./mentions.ts";
import { anchorOfPassage, locatePassage, longestQuote } from "./passage.ts";
import { refindTopics } from "./refind-topics.ts";
import type { Topic } from "./topic.ts";
import type { Message, Speaker } from "./topics.ts";
import { unreadFor } from "./unread.ts";

const longestMessage = 20_000;
const enoughText = 24_000;
const enoughQuote = 4_000;

const id = z.string().max(64).describe("Id of the topic, such as t-…");
const sourcePath = z.string().max(1000).describe("Path of the page, such as docs/deploy.md");
const content = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(longestMessage, `expected at most ${longestMessage} characters`)
  .refine((said) => !said.includes("\0"), "the message contains a NUL character")
  .describe("The message, in markdown");
const status = z.enum(["open", "resolved"]);
const kind = z
  .enum(["change", "question"])
  .describe("change: the page should be edited; question: only an answer is wanted");

const selection = {
  quote: z.string().max(longestQuote).optional().describe("The passage, quoted exactly from the page"),
  nth: z.int().min(1).optional().describe("Which occurrence, if the quote occurs several times"),
  context: z.string().max(1000).optional().describe("Words near the right occurrence"),
  start: z.int().min(0).optional().describe("Instead of a quote: start offset in UTF-16 units"),
  end: z.int().min(1).optional().describe("End offset, exclusive"),
  source_sha: z
    .string()
    .max(64)
    .optional()
    .describe(
      "With start and end: source_sha of the page that the offsets belong to. If the page has changed, the passage is found in the present text or refused",
    ),
};

const anchorShape = z.object({
  state: z.enum(["anchored", "moved", "needs-review", "orphaned"]),
  quote: z.string().describe("The passage; when orphaned, the last known one"),
  source_sha: z.string().describe("The version of the page that has the quote"),
  place: z
    .object({
      start: z.int(),
      end: z.int(),
      line: z.int(),
      end_line: z.int(),
      heading: z.string().describe("The heading above it"),
      text: z.string().describe("The passage now"),
    })
    .nullable()
    .describe("Where it is in the current page; a guess for needs-review; null for orphaned"),
  first_quote: z.string().optional().describe("The first quote, if it was different"),
});

const placeShape = anchorShape.shape.place;

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
  source_sha: z.string().nullable().describe("The current version of the page; null if the page is gone"),
  anchor: anchorShape.nullable().describe("null for a topic about the entire page"),
});

const messageShape = z.object({
  seq: z.int(),
  author: z.string(),
  author_kind: z.enum(["person", "agent"]),
  content: z.string(),
  at: z.string(),
  edited_at: z.string().nullable(),
});

const assignee = z.string().nullable().describe("The person who is to deal with it");
const listed = topicShape.extend({
  opening: z.string().describe("Start of the first message"),
  assignee,
  unread: z.boolean().optional().describe("For a person: whether somebody else wrote since they read it"),
});
const cursor = z.string().max(64).optional().describe("Cursor of the previous answer, for the next page");
const list = z.object({ topics: z.array(listed), cursor: z.string().optional() });

export const openTopic = operation({
  name: "open_topic",
  summary: "Open a topic about a page or a passage of it.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/topics" },
  input: z.object({ source_path: sourcePath, kind: kind.default("change"), content, ...selection }),
  output: topicShape,
  async run(app: ReviewApp, { source_path, kind, content, ...chosen }, caller) {
    const page = await app.pages.read(source_path);
    if (!page.ok) return page;
    const anchor = await anchorIn(app, page.value, chosen);
    if (!anchor.ok) return anchor;
    const mentions = await mentioned(app, content);
    const opened = { page: page.value, kind, text: content, anchor: anchor.value, mentions };
    return ok(shown(await app.topics.open(opened, speaker(caller)), page.value));
  },
});

export const listTopics = operation({
  name: "list_topics",
  summary: "List topics, newest first, with their anchors.",
  effect: "reads",
  reads: ["topic", "page", "entry", "proposal", "job", "notice"],
  callers: ["reader", "collaborator", "admin"],
  group: "review",
  http: { method: "get", path: "/topics" },
  input: z.object({
    source_path: sourcePath.optional(),
    status: status.optional().describe("Only open or only resolved topics"),
    kind: kind.optional(),
    limit: z.int().min(1).max(100).default(50).describe("Maximum number of topics"),
    cursor,
  }),
  output: list,
  run: async (app: ReviewApp, { source_path: path, ...filter }, caller) =>
    ok(await listing(app, { path, ...filter }, caller)),
});

export const listOpenTopics = operation({
  name: "list_open_topics",
  summary: "List the open topics of a page with their anchors.",
  guidance:
    "Read it before you rewrite a page: topics are found again by their quotes, so keep the quoted words or re-anchor the topic after your change. Pass `cursor` for the next page.",
  effect: "reads",
  reads: ["topic", "page", "entry", "proposal"],
  callers: everyone,
  group: "review",
  http: { method: "get", path: "/open-topics" },
  input: z.object({
    source_path: sourcePath,
    limit: z.int().min(1).max(100).default(30).describe("Maximum number of topics"),
    cursor,
  }),
  output: list,
  async run(app: ReviewApp, { source_path, limit, cursor }, caller) {
    const page = await app.pages.read(source_path);
    if (!page.ok && page.problem.code !== "not_found") return page;
    const found = await listing(app, { path: source_path, status: "open", limit, cursor }, caller);
    return page.ok || found.topics.length > 0 ? ok(found) : page;
  },
});

export const getTopic = operation({
  name: "get_topic",
  summary: "Read one topic: its page and passage, its messages and earlier proposals.",
  guidance:
    "`anchor.place` has the current line and heading; `source_sha` is the base for a proposal; `revisions` are earlier proposals with people's comments. Pass `cursor` for further messages.",
  effect: "reads",
  reads: ["topic", "page", "entry", "proposal", "job"],
  callers: everyone,
  group: "review",
  http: { method: "get", path: "/topics/{id}" },
  input: z.object({
    id,
    cursor: z
      .string()
      .regex(/^\d{1,9}$/, "expected the cursor of an earlier answer")
      .optional()
      .describe("Cursor of the previous answer, for the next page"),
  }),
  output: topicShape.extend({
    assignee,
    messages: z.array(messageShape),
    cursor: z.string().optional(),
    revisions: z.array(revision).optional().describe("Earlier proposals, newest first"),
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
      assignee: (await findAssignment(app.db.read, `topic:${id}`))?.person ?? null,
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
    "Use it to answer a topic of kind question, and to say what you did about a change. It does not edit the page or resolve the topic.",
  effect: "writes",
  touches: ["topic"],
  callers: writers,
  group: "review",
  http: { method: "post", path: "/topics/{id}/messages" },
  input: z.object({ id, content }),
  output: z.object({ id: z.string(), seq: z.int().describe("Number of the message in its topic") }),
  async run(app: ReviewApp, { id, content }, caller) {
    const replied = await app.topics.reply(id, content, speaker(caller), await mentioned(app, content));
    return replied.ok ? ok({ id, seq: replied.value.seq }) : replied;
  },
});

export const editMessage = operation({
  name: "edit_message",
  summary: "Edit a message that you wrote.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  group: "review",
  http: { method: "put", path: "/topics/{id}/messages/{seq}" },
  input: z.object({ id, seq: z.coerce.number().int().min(1).describe("The message's number"), content }),
  output: messageShape,
  async run(app: ReviewApp, { id, seq, content }, caller) {
    const edited = await app.topics.edit(id, seq, content, speaker(caller), await mentioned(app, content));
    return edited.ok ? ok(snakeKeys(edited.value)) : edited;
  },
});

export const assignTopic = operation({
  name: "assign_topic",
  summary: "Assign a topic, with its proposals, to a person or to nobody.",
  effect: "writes",
  touches: ["topic", "notice"],
  callers: collaborators,
  group: "review",
  http: { method: "put", path: "/topics/{id}/assignee" },
  input: z.object({
    id,
    assignee: z.string().max(100).nullable().describe("Name of a collaborator or an admin; null for nobody"),
  }),
  output: z.object({ id: z.string(), assignee }),
  async run(app: ReviewApp, { id, assignee }, caller) {
    if (assignee === null) return app.topics.assign(id, null, speaker(caller));
    const people = (await knownNames(app)).filter((one) => one.kind === "person");
    const found = people.find(({ name }) => name === assignee);
    const able = people.filter(({ rank }) => rank !== "reader").map(({ name }) => name);
    if (!found) return refuse("invalid", `assignee: ${assignee} does not exist; ${suggest(assignee, able)}`);
    if (found.rank === "reader")
      return refuse("invalid", `assignee: ${assignee} is a reader, who cannot reply or decide`);
    return app.topics.assign(id, assignee, speaker(caller));
  },
});

export const resolveTopic = operation({
  name: "resolve_topic",
  summary: "Resolve a topic.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/topics/{id}/resolve" },
  input: z.object({ id }),
  output: topicShape,
  run: (app: ReviewApp, { id }, caller) => settled(app, () => app.topics.resolve(id, speaker(caller))),
});

export const reopenTopic = operation({
  name: "reopen_topic",
  summary: "Reopen a resolved topic and find its passage in the current page.",
  effect: "writes",
  touches: ["topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/topics/{id}/reopen" },
  input: z.object({ id }),
  output: topicShape,
  run: (app: ReviewApp, { id }, caller) => settled(app, () => app.topics.reopen(id, speaker(caller))),
});

export const findPassage = operation({
  name: "find_passage",
  summary: "Find a passage, selected in an earlier text of a page, in its present text.",
  effect: "reads",
  reads: ["page", "entry"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/passage" },
  input: z.object({
    source_path: sourcePath,
    start: z.int().min(0).describe("Start offset in UTF-16 units"),
    end: z.int().min(1).describe("End offset, exclusive"),
    source_sha: z.string().max(64).describe("source_sha of the page that the offsets belong to"),
  }),
  output: z.object({
    state: anchorShape.shape.state,
    source_sha: z.string().describe("The present version of the page"),
    quote: z.string().nullable().describe("The passage as selected; null if that text of the page is gone"),
    place: placeShape,
  }),
  async run(app: ReviewApp, { source_path, ...passage }) {
    const read = await app.pages.read(source_path);
    if (!read.ok) return read;
    const page = read.value;
    const located = await locatePassage(app, page, passage);
    if (!located.ok) return located;
    const found = located.value;
    if (found.state === "lost")
      return ok({ state: "orphaned" as const, source_sha: page.blob, quote: null, place: null });
    const span = found.state === "needs-review" ? found.place : found.state === "orphaned" ? undefined : found.anchor;
    const quote = found.anchor.quote;
    return ok({ state: found.state, source_sha: page.blob, quote, place: span ? placeIn(page, span) : null });
  },
});

export const reanchorTopic = operation({
  name: "reanchor_topic",
  summary: "Move a topic to another passage of its page.",
  guidance:
    "Only for topics whose anchor is needs-review or orphaned. Quote the current words that replaced the old ones; a quote with too little in common with the old one is refused.",
  effect: "writes",
  touches: ["topic"],
  callers: writers,
  group: "review",
  http: { method: "post", path: "/topics/{id}/anchor" },
  input: z.object({ id, ...selection }),
  output: topicShape,
  async run(app: ReviewApp, { id, ...chosen }, caller) {
    const found = await current(app, id);
    if (!found.ok) return found;
    const { topic, page } = found.value;
    if (!page) return refuse("not_found", `page ${topic.path} of topic ${id} was deleted`);
    const anchor = await anchorIn(app, page, chosen);
    if (!anchor.ok) return anchor;
    if (!anchor.value) return refuse("invalid", "missing passage: send quote, or start, end and source_sha");
    const verified = caller.kind === "agent" ? verify(topic, anchor.value) : ok(true);
    if (!verified.ok) return verified;
    const moved = await app.topics.reanchor(id, page, anchor.value, speaker(caller));
    return moved.ok ? ok(shown(moved.value, page)) : moved;
  },
});

export const mentioned = async (app: ReviewApp, text: string) =>
  text.includes("@") ? mentionsIn(text, await knownNames(app)) : [];

export const speaker = (caller: Caller): Speaker => ({ name: nameOf(caller), kind: caller.kind });

type Chosen = { [K in keyof typeof selection]?: z.infer<(typeof selection)[K]> };

/** The chosen passage in the present page; undefined for the whole page. */
async function anchorIn(app: ReviewApp, page: Page, chosen: Chosen): Promise<Result<Anchor | undefined>> {
  const { quote, nth, context, start, end, source_sha } = chosen;
  if (quote !== undefined && start !== undefined)
    return refuse("invalid", "send either quote, or start and end, not both");
  if (quote !== undefined) return anchorFor(page.text, quote, { blob: page.blob, nth, context });
  if (start === undefined && end === undefined) {
    return nth === undefined && context === undefined
      ? ok(undefined)
      : refuse("invalid", "nth and context need a quote");
  }
  if (start === undefined || end === undefined || source_sha === undefined) {
    return refuse("invalid", "start and end need each other, and the source_sha of the page they refer to");
  }
  return anchorOfPassage(app, page, { start, end, source_sha });
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
  const topic = (await app.topics.findIn(id, page)) ?? before;
  if (topic.path === before.path) return ok({ topic, page });
  const followed = await app.pages.read(topic.path);
  const now = followed.ok ? followed.value : undefined;
  return ok({ topic: (await app.topics.findIn(id, now)) ?? topic, page: now });
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

async function listing(
  app: ReviewApp,
  filter: Omit<Filter, "after"> & { cursor?: string | undefined },
  caller: Caller,
) {
  const { cursor, ...rest } = filter;
  const wanted = { ...rest, after: cursor, limit: filter.limit + 1 };
  const pages = new Map<string, Page | undefined>();
  if (filter.path !== undefined) pages.set(filter.path, await refindTopics(app, filter.path));
  const listed = await app.topics.list(wanted);
  const unseen = [...new Set(listed.map((topic) => topic.path))].filter((path) => !pages.has(path));
  for (const path of unseen) pages.set(path, await refindTopics(app, path));
  const found = await app.topics.list(wanted, (path) => pages.get(path));

  const topics = found.slice(0, filter.limit);
  const [openings, assignees, unread] = await Promise.all([
    app.topics.openings(topics.map((topic) => topic.id)),
    assigneesOf(
      app.db.read,
      topics.map((topic) => `topic:${topic.id}`),
    ),
    caller.kind === "person" ? unreadFor(app, caller.name) : undefined,
  ]);
  const last = found.length > filter.limit ? topics.at(-1)?.id : undefined;
  return {
    topics: topics.map((topic) => ({
      ...shown(topic, pages.get(topic.path)),
      opening: cut(openings.get(topic.id)?.content ?? "", 300),
      assignee: assignees.get(`topic:${topic.id}`) ?? null,
      ...(unread ? { unread: unread.has(topic.id) } : {}),
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

/** A list has up to 100 topics on one page: its text is scanned once for all of them. */
const scanned = new WeakMap<Page, ReturnType<typeof placesIn>>();

function placesOn(page: Page): ReturnType<typeof placesIn> {
  const places = scanned.get(page) ?? placesIn(page.text);
  scanned.set(page, places);
  return places;
}

/** Offsets are valid only in the text that they were computed for. */
function placed({ anchor, seenBlob }: Topic, page: Page | undefined) {
  if (!page || !anchor?.place || seenBlob !== page.blob) return null;
  return placeIn(page, anchor.place);
}

function placeIn(page: Page, { start, end }: Span) {
  const place = snakeKeys(placesOn(page)({ start, end }));
  return { start, end, ...place, text: cut(page.text.slice(start, end), enoughQuote) };
}

/** As many messages as fit into a response, at least one. */
function fitting(messages: Message[]): Message[] {
  let room = enoughText;
  return messages.filter((message, i) => {
    room -= message.content.length;
    return i === 0 || room >= 0;
  });
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);
