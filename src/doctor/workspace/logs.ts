import type { LoggedEvent } from "../../store/queries/event-log.ts";
import { isRevert } from "../../wiki/revert.ts";
import { causeText } from "../../wiki/stores/cause.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { type BookRecord, nameOf } from "./record.ts";

const mostExplained = 5;

type Rewrite = { entry: string; version: number; at: string; author: string; cause: string | undefined };

/**
 * Logs whose earlier lines changed. Each version says so itself: it was compared with the one before while the
 * section's mode and the branch were known.
 */
export function checkLogs(record: BookRecord): Finding[] {
  const { ok, problem } = findingsOf("wiki", "logs");
  const rewrites = rewritesIn(record);
  const byHand = rewrites.filter(({ cause }) => cause === undefined);
  const explained = rewrites.filter(({ cause }) => cause !== undefined).slice(-mostExplained);
  return [
    ...byHand.map(({ entry, version, at, author }) =>
      problem(
        `${entry} is a log, and ${author} rewrote earlier lines in version ${version} (${at})`,
        `scriptorium entry read ${entry} --version ${version - 1}`,
        { kind: "log-rewritten", subject: `entry:${entry}`, evidence: `version ${version}` },
      ),
    ),
    ...explained.map(({ entry, version, cause }) => ok(`${entry} has another text since version ${version}: ${cause}`)),
    ...(byHand.length === 0 && explained.length === 0 ? [ok("no log was rewritten")] : []),
  ];
}

/** From the events, and from git for versions that an index rebuilt from git has no events of. */
function rewritesIn({ versions, events, history }: BookRecord): Rewrite[] {
  const rows = new Map(versions.map((row) => [nameOf(row), row]));
  const known = new Set<string>();
  const fromEvents = events.flatMap((event): Rewrite[] => {
    const entry = event.subject.slice("entry:".length);
    const version = Number(event.data.version);
    known.add(nameOf({ entry_id: entry, version }));
    if (event.data.rewrote_log !== true) return [];
    return [{ entry, version, at: event.at, author: event.actor, cause: causeIn(event) }];
  });
  const fromGit = (history?.versions ?? []).flatMap(({ row, change }): Rewrite[] => {
    if (change.trailers.get("Rewrote-log") !== "yes" || known.has(nameOf(row))) return [];
    const { entry_id: entry, version, at, author } = row;
    return [{ entry, version, at, author, cause: change.trailers.get("Cause") }];
  });
  return [...fromEvents, ...fromGit].filter(
    ({ entry, version }) => !isRevert(rows.get(nameOf({ entry_id: entry, version }))?.summary ?? ""),
  );
}

function causeIn({ data }: LoggedEvent): string | undefined {
  const { cause, from_branch: from, to_branch: to } = data as Record<string, string | undefined>;
  return cause && causeText({ command: cause, ...(from ? { from } : {}), ...(to ? { to } : {}) });
}
