import { everyone } from "../kernel/operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";

/** Topics by what is said in them, each message a part. */
export const topicKind = (db: Database): Kind => ({
  name: "topic",
  readers: everyone,
  all: async () => (await db.read.selectFrom("topics").select("id").execute()).map((row) => row.id),
  async read(id) {
    const topic = await db.read.selectFrom("topics").selectAll().where("id", "=", id).executeTakeFirst();
    if (!topic) return undefined;
    const messages = await db.read
      .selectFrom("messages")
      .selectAll()
      .where("topic_id", "=", id)
      .orderBy("seq")
      .execute();
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
