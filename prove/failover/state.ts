import type { ClaimEvent, Effect, State } from "./history.ts";

type Query = <T extends object>(sql: string) => Promise<T[]>;

type VersionRow = { key: string; version: number; text: string | null; position: number };
type EventRow = { position: number; kind: string; subject: string; data: string };

/** The order of events: sealed ones by their position, later ones after them by their number. */
const position = `coalesce(event_chain.position, 1000000000 + events.seq)`;
const inOrder = `events LEFT JOIN event_chain ON event_chain.seq = events.seq`;

/** What a database holds of the marks with this prefix. `texts` says where the texts of versions are. */
export async function readState(query: Query, prefix: string, texts: Effect[] | "rows"): Promise<State> {
  const events = await query<EventRow>(
    `SELECT ${position} AS position, kind, subject, data FROM ${inOrder} WHERE subject LIKE 'task:%' ORDER BY 1`,
  );
  const entries = texts === "rows" ? await versionsIn(query) : texts;
  const effects = [...entries, ...events.flatMap(effectOf)].filter(({ mark }) => mark.startsWith(`${prefix}-`));
  return { effects, claims: events.flatMap(claimOf) };
}

async function versionsIn(query: Query): Promise<Effect[]> {
  const rows = await query<VersionRow>(`
    SELECT versions.entry_id AS key, versions.version, versions.content AS text,
      coalesce(max(${position}), 0) AS position
    FROM entry_versions AS versions
    LEFT JOIN events ON events.subject = 'entry:' || versions.entry_id
      AND events.kind IN ('entry-committed', 'entry-appended', 'entry-edited')
      AND (events.data::json ->> 'version')::int = versions.version
    LEFT JOIN event_chain ON event_chain.seq = events.seq
    GROUP BY versions.entry_id, versions.version, versions.content`);
  return rows.flatMap(({ text, ...where }) => marksIn(text ?? "").map((mark) => ({ ...where, mark })));
}

/** A mark is a word that ends with a dot, such as `r1-w1.log-17.`. */
export const marksIn = (text: string): string[] => text.match(/\br\d+-[\w-]+\.(?=\s|$)/g) ?? [];

function effectOf({ position, kind, subject, data }: EventRow): Effect[] {
  const { title, output } = JSON.parse(data) as { title?: string; output?: string };
  const key = subject.slice("task:".length);
  if ((kind === "task-created" || kind === "task-edited") && title) return [{ key, mark: title, position }];
  return kind === "task-finish" && output ? [{ key, mark: output, position }] : [];
}

function claimOf({ position, kind, subject, data }: EventRow): ClaimEvent[] {
  if (kind !== "task-claim") return [];
  return [{ key: subject.slice("task:".length), holder: (JSON.parse(data) as { holder: string }).holder, position }];
}
