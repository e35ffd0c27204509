import type { AttemptRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import { runTask } from "../../store/queries/runs.ts";
import { firstMessages } from "../../store/queries/topics.ts";

const most = 10;
const longest = 300;

/** What people have open on the pages that a task names or changed, in a line each. */
export async function openTopics(tx: Query, attempt: AttemptRow): Promise<string[]> {
  const detail = await runTask(tx, attempt.task_id);
  const paths = [...new Set<string>([...JSON.parse(detail?.files ?? "[]"), ...JSON.parse(attempt.files_changed)])];
  const pages = paths.filter((path) => /\.(md|markdown)$/.test(path)).slice(0, 100);
  if (pages.length === 0) return [];
  const topics = await tx
    .selectFrom("topics")
    .select(["id", "path", "first_quote"])
    .where("status", "=", "open")
    .where("path", "in", pages)
    .orderBy("created_at")
    .limit(most)
    .execute();
  const said = new Map(
    (
      await firstMessages(
        tx,
        topics.map((topic) => topic.id),
      )
    ).map((row) => [row.topic_id, row.text]),
  );
  return topics.map(({ id, path, first_quote: quote }) => {
    const words = `${path}${quote ? ` at "${quote}"` : ""}: ${said.get(id) ?? ""}`.replaceAll(/\s+/g, " ");
    return words.length > longest ? `${words.slice(0, longest)}…` : words;
  });
}
