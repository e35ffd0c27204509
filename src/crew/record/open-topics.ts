import type { Query } from "../../store/database.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import { runTask } from "../../store/queries/runs.ts";
import { firstMessages, openTopicsOnPages } from "../../store/queries/topics.ts";

const maxTopics = 10;
const maxPages = 100;
const maxCharacters = 300;

/** People's open topics on the pages that a task names or changed, one line each. */
export async function openTopics(tx: Query, attempt: Attempt): Promise<string[]> {
  const detail = await runTask(tx, attempt.task_id);
  const paths = [...new Set([...(detail?.files ?? []), ...attempt.files_changed])];
  const pages = paths.filter((path) => /\.(md|markdown)$/.test(path)).slice(0, maxPages);
  if (pages.length === 0) return [];
  const topics = await openTopicsOnPages(tx, pages, maxTopics);
  const ids = topics.map((topic) => topic.id);
  const said = new Map((await firstMessages(tx, ids)).map((row) => [row.topic_id, row.text]));
  return topics.map(({ id, path, first_quote: quote }) => {
    const words = `${path}${quote ? ` at "${quote}"` : ""}: ${said.get(id) ?? ""}`.replaceAll(/\s+/g, " ");
    return words.length > maxCharacters ? `${words.slice(0, maxCharacters)}…` : words;
  });
}
