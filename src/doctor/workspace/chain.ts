import type { CrewApp } from "../../crew/record/crew-app.ts";
import { type BrokenLink, type ChainHead, headTrailer, parseHead, verifyChain } from "../../store/event-chain.ts";
import { eventsAfter } from "../../store/events.ts";
import { strayEvents } from "../../store/queries/event-chain.ts";
import { oldestOfKind } from "../../store/queries/event-log.ts";
import type { RecordedVersion } from "../../wiki/stores/rebuild.ts";
import { type Finding, findingsOf } from "../finding.ts";

/** Events are evidence: nothing repairs them. */
const fix = "restore a backup of the database, or accept it: scriptorium doctor --acknowledge <id>";

const says: Record<BrokenLink["what"], string> = {
  event_missing: "was deleted",
  link_missing: "is missing, with its place in the order",
  hash_differs: "was changed, moved or inserted",
  head_missing: "is gone, and all after it; git recorded it",
  archive_differs: "or one of those archived with it was changed",
  head_differs: "is another one than git recorded; the log up to it was rewritten",
};

/** The events are as they were sealed, and as the commits in git say that they were. */
export async function checkChain({ db }: CrewApp, commits: RecordedVersion[]): Promise<Finding[]> {
  const { ok, problem } = findingsOf("wiki", "event chain");
  const heads = headsIn(commits, await versionsBefore(db));
  const newest = heads.at(-1);
  // A head proves all events before it. The others only help to find the first one that differs.
  let { head, broken, archived } = await verifyChain(db, newest ? [newest] : []);
  if (broken?.what === "head_differs" || broken?.what === "head_missing")
    ({ head, broken, archived } = await verifyChain(db, heads));
  const strays = await strayEvents(db.read, 20);
  const found = strays.map(({ seq, kind, subject, at }) =>
    problem(`event ${kind} of ${subject} (${at}) was inserted into the log later`, fix, {
      kind: "chain-event-inserted",
      subject: `event:${seq}`,
    }),
  );
  if (broken) {
    const { position, what, expected, found: seen } = broken;
    const [last] = head ? await eventsAfter(db, String(head.position - 1), 1) : [];
    const since = last ? `; the last intact event is ${last.id}, of ${last.at}` : "";
    const evidence = `${what} at ${position}: ${expected ?? "none"}, ${seen ?? "none"}`;
    const about = { kind: `chain-${what.replaceAll("_", "-")}`, subject: `event:${position}`, evidence };
    found.unshift(problem(`event ${position} ${says[what]}${since}`, fix, about));
  }
  const packed = archived > 0 ? `, ${archived} of them archived` : "";
  const proof = newest ? `, ${newest.position} of them recorded in git` : "";
  return found.length > 0 ? found : [ok(`${head?.position ?? 0} events are chained${packed}${proof}`)];
}

/** The versions in git that are older than this database: their commits name the events of another one. */
async function versionsBefore(db: CrewApp["db"]): Promise<number> {
  return Number((await oldestOfKind(db.read, "index-rebuilt"))?.data.versions ?? 0);
}

const headsIn = (commits: RecordedVersion[], before: number): ChainHead[] =>
  commits.slice(before).flatMap(({ change }) => parseHead(change.trailers.get(headTrailer) ?? "") ?? []);
