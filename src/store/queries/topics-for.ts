import { sql } from "kysely";
import type { Query } from "../database.ts";

/** An open topic that waits for a person, and since when. */
export type TopicFor = { id: string; path: string; reason: "assigned" | "mentioned"; by: string; at: string };

/** The open topics that are assigned to a person, or mention them in a message that they have not read; newest first. */
export async function topicsFor(query: Query, person: string, since: string): Promise<TopicFor[]> {
  const { rows } = await sql<Omit<TopicFor, "by"> & { author: string }>`
    SELECT t.id, t.path, 'assigned' AS reason, a.assigned_by AS author, a.assigned_at AS at
    FROM assignments a JOIN topics t ON a.subject = 'topic:' || t.id
    WHERE a.person = ${person} AND t.status = 'open'
    UNION ALL
    SELECT t.id, t.path, 'mentioned' AS reason, m.author, m.created_at AS at
    FROM mentions n
    JOIN topics t ON t.id = n.topic_id
    JOIN messages m ON m.topic_id = n.topic_id AND m.seq = n.seq
    LEFT JOIN read_marks r ON r.person = ${person} AND r.subject = 'topic:' || t.id
    WHERE n.kind = 'person' AND n.name = ${person} AND t.status = 'open' AND m.created_at > ${since}
      AND (m.author <> ${person} OR m.author_kind = 'agent') AND coalesce(r.seq, 0) < n.seq
    ORDER BY reason, at DESC`.execute(query);
  // Assignments come first: a topic that also mentions its assignee is listed once.
  const byId = new Map<string, TopicFor>();
  for (const { author, ...row } of rows) if (!byId.has(row.id)) byId.set(row.id, { ...row, by: author });
  return [...byId.values()].sort((a, b) => b.at.localeCompare(a.at));
}
