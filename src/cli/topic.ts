import { Command } from "@commander-js/extra-typings";
import {
  assignTopic,
  editMessage,
  getTopic,
  listTopics,
  openTopic,
  reanchorTopic,
  reopenTopic,
  replyTopic,
  resolveTopic,
} from "../review/topics/operations.ts";
import { type Common, readInput, report } from "./session.ts";
import { bold, dim, table, when } from "./text.ts";

export const topicCommand = (common: () => Common) =>
  new Command("topic")
    .description("discuss pages and passages")
    .addCommand(
      new Command("open")
        .description(openTopic.summary)
        .argument("<page>", "path of the page, such as docs/deploy.md")
        .requiredOption("--message <text>", "message in markdown; - reads it from stdin")
        .option("--quote <words>", "the passage, quoted from the page (default: the whole page)")
        .option("--nth <n>", "which occurrence, if the passage occurs several times", Number)
        .option("--context <words>", "words near the passage, to identify it")
        .option("--kind <kind>", "change (asks for an edit) or question (asks for an answer)")
        .action(async (path, { message, ...options }) =>
          report(
            common(),
            openTopic,
            { source_path: path, content: await worded(message), ...options },
            (topic) => `opened ${topic.id} on ${topic.source_path}${where(topic)}`,
          ),
        ),
    )
    .addCommand(
      new Command("list")
        .description(listTopics.summary)
        .argument("[page]", "only topics of this page")
        .option("--status <status>", "open or resolved (default: both)")
        .option("--limit <n>", "maximum number", Number)
        .action((path, { status, limit }) =>
          report(
            common(),
            listTopics,
            { source_path: path, status, limit: limit ?? 100 },
            { text: listed, json: (found) => found.topics },
          ),
        ),
    )
    .addCommand(
      new Command("show")
        .description(getTopic.summary)
        .argument("<id>")
        .option("--after <n>", "only messages after this one")
        .action((id, { after }) => report(common(), getTopic, { id, cursor: after }, described)),
    )
    .addCommand(
      new Command("reply")
        .description(replyTopic.summary)
        .argument("<id>")
        .requiredOption("--message <text>", "message in markdown; - reads it from stdin")
        .action(async (id, { message }) =>
          report(
            common(),
            replyTopic,
            { id, content: await worded(message) },
            (reply) => `message ${reply.seq} of ${reply.id}`,
          ),
        ),
    )
    .addCommand(
      new Command("edit")
        .description(editMessage.summary)
        .argument("<id>")
        .argument("<message>", "number of the message")
        .requiredOption("--message <text>", "new text; - reads it from stdin")
        .action(async (id, seq, { message }) =>
          report(
            common(),
            editMessage,
            { id, seq, content: await worded(message) },
            (edited) => `edited message ${edited.seq} of ${id}`,
          ),
        ),
    )
    .addCommand(
      new Command("reanchor")
        .description(reanchorTopic.summary)
        .argument("<id>")
        .requiredOption("--quote <words>", "the passage, quoted from the current page")
        .option("--nth <n>", "which occurrence, if the passage occurs several times", Number)
        .option("--context <words>", "words near the passage, to identify it")
        .action((id, options) =>
          report(
            common(),
            reanchorTopic,
            { id, ...options },
            (topic) => `${topic.id} is on ${topic.source_path}${where(topic)}`,
          ),
        ),
    )
    .addCommand(
      new Command("assign")
        .description(assignTopic.summary)
        .argument("<id>")
        .argument("[name...]", "name of the person; none assigns it to nobody")
        .action((id, words) =>
          report(
            common(),
            assignTopic,
            { id, assignee: words.length > 0 ? words.join(" ") : null },
            (done) => `${done.id} is assigned to ${done.assignee ?? "nobody"}`,
          ),
        ),
    )
    .addCommand(
      new Command("resolve")
        .description(resolveTopic.summary)
        .argument("<id>")
        .action((id) => report(common(), resolveTopic, { id }, (topic) => `${topic.id} is resolved`)),
    )
    .addCommand(
      new Command("reopen")
        .description(reopenTopic.summary)
        .argument("<id>")
        .action((id) => report(common(), reopenTopic, { id }, (topic) => `${topic.id} is open${where(topic)}`)),
    );

const worded = async (message: string) => (message === "-" ? (await readInput("-")).toString("utf8") : message);

type Anchor = {
  state: string;
  quote: string;
  place: { line: number; heading: string; text: string } | null;
};
type Line = { id: string; source_path: string; kind: string; status: string; anchor: Anchor | null };

const where = ({ anchor }: Line) => (anchor?.place ? `:${anchor.place.line} (${anchor.state})` : "");

function listed({ topics }: { topics: (Line & { opening: string; message_count: number })[] }): string {
  if (topics.length === 0) return "no topics; open one with: scriptorium topic open <page> --message <text>";
  return table([
    ["id", "status", "kind", "page", "anchor", "messages", "begins"],
    ...topics.map((topic) => [
      topic.id,
      topic.status,
      topic.kind,
      topic.anchor?.place ? `${topic.source_path}:${topic.anchor.place.line}` : topic.source_path,
      topic.anchor?.state ?? "whole page",
      String(topic.message_count),
      topic.opening.slice(0, 60),
    ]),
  ]);
}

type Said = { seq: number; author: string; author_kind: string; content: string; at: string; edited_at: string | null };

function described(
  topic: Line & { created_by: string; created_at: string; messages: Said[]; cursor?: string },
): string {
  const { anchor } = topic;
  const under = anchor?.place?.heading ? `, under “${anchor.place.heading}”` : "";
  return [
    bold(`${topic.kind} on ${topic.source_path}${where(topic)}${under}`),
    `${topic.id}, ${topic.status}, from ${topic.created_by} at ${when(topic.created_at)}`,
    ...(anchor ? quoteOf(anchor) : []),
    ...topic.messages.flatMap((message) => [
      "",
      dim(
        `${message.seq}. ${message.author}${message.author_kind === "agent" ? " (agent)" : ""}, ${when(message.at)}${message.edited_at ? ", edited" : ""}`,
      ),
      message.content,
    ]),
    ...(topic.cursor ? ["", `more: scriptorium topic show ${topic.id} --after ${topic.cursor}`] : []),
  ].join("\n");
}

function quoteOf(anchor: Anchor): string[] {
  const lines = (text: string) => text.split("\n").map((line) => `  > ${line}`);
  if (anchor.state === "orphaned") return ["the page no longer contains this passage:", ...lines(anchor.quote)];
  if (anchor.state !== "needs-review" || !anchor.place) return lines(anchor.quote);
  return [
    ...lines(anchor.quote),
    "it may be this passage now; confirm it with scriptorium topic reanchor:",
    ...lines(anchor.place.text),
  ];
}
