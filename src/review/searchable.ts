import { everyone } from "../kernel/operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";
import { findTopic, messagesOf, topicIds } from "../store/queries/topics.ts";

/** Makes topics searchable by their messages, each a section of its own. */
export const topicKind = (db: Database): Kind => ({
  name: "topic",
  readers: everyone,
  all: () => topicIds(db.read),
  async read(id) {
    const topic = await findTopic(db.read, id);
    if (!topic) return undefined;
    const messages = await messagesOf(db.read, id, 0, topic.messages);
    const text = [
      topic.first_quote ? `> ${topic.first_quote.replaceAll("\n", "\n> ")}` : "",
      ...messages.map(({ seq, author, text }) => `## ${seq}, ${author}\n\n${text}`),
    ];
    const last = messages.at(-1);
    return {
      title: `${topic.status} ${topic.kind} on ${topic.path}`,
      text: text.filter(Boolean).join("\n\n"),
      author: last?.author ?? topic.created_by,
      at: last?.created_at ?? topic.created_at,
    };
  },
});
