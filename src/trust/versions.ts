import type { Query } from "../store/database.ts";
import { writingEvents } from "../store/queries/event-log.ts";
import { versionsOf } from "../store/queries/versions.ts";
import type { Writing } from "./fold.ts";

type WriteData = {
  version?: number;
  approval?: { by?: string };
  reverts?: unknown;
  cause?: string;
  proven?: boolean;
  base_source_sha?: string;
};

/** How many versions of an entry are followed; the passages of older ones count as written by the oldest of these. */
const mostVersions = 200;

/** The versions of an entry after `known`, oldest first, with their writers. */
export async function writingsSince(query: Query, id: string, known: number): Promise<Writing[]> {
  const versions = (await versionsOf(query, id, mostVersions)).filter(({ version }) => version > known).reverse();
  if (versions.length === 0) return [];
  const events = await writingEvents(query, `entry:${id}`, versions.length);
  const facts = new Map(
    events.map((event) => {
      const data: WriteData = event.data;
      return [data.version, { ...data, kind: event.kind }];
    }),
  );
  return versions.map(({ version, author, role, run, task, epoch, at, summary }): Writing => {
    const { approval, reverts, cause, proven } = facts.get(version) ?? {};
    const isPutBack = reverts !== undefined || cause !== undefined || /^(Rename|Revert) /.test(summary);
    const how = approval ? "approval" : isPutBack ? "git" : role !== null ? "agent" : proven ? "person" : "edit";
    return { how, author, role, run, task, epoch, version, written_at: at, approved_by: approval?.by ?? null };
  });
}

/** Who wrote a page that is not an entry last, and the blob of the text before that. */
export async function lastWriting(
  query: Query,
  subject: string,
  now: Date,
): Promise<{ writing: Writing; base: string | undefined }> {
  const event = (await writingEvents(query, subject, 1)).at(-1);
  const { approval, base_source_sha: base }: WriteData = event?.data ?? {};
  const how = approval ? "approval" : !event || event.kind === "page-edited" ? "edit" : "git";
  const none = { role: null, run: null, task: null, epoch: null, version: 0 };
  const written = { author: event?.actor ?? "", written_at: event?.at ?? now.toISOString() };
  return { writing: { how, ...none, ...written, approved_by: approval?.by ?? null }, base };
}
