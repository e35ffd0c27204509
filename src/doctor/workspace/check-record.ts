import type { CrewApp } from "../../crew/record/crew-app.ts";
import { allLinks } from "../../store/queries/links.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { type Broken, describeBroken } from "./broken.ts";
import { checkChain } from "./chain.ts";
import { compareEvents } from "./compare-events.ts";
import { compareHistory } from "./compare-history.ts";
import { compareIndex } from "./compare-index.ts";
import { checkHistoryRef } from "./history-ref.ts";
import { checkLogs } from "./logs.ts";
import { mirroredVersions } from "./mirror.ts";
import { readRecord } from "./record.ts";
import { readTexts } from "./texts.ts";

export type Progress = (what: string) => void;

/**
 * Proves index = history = events. Others may write meanwhile, and a version that appears between two reads looks
 * broken: only what a second pass finds again counts.
 */
export async function checkRecord(app: CrewApp, progress: Progress): Promise<Finding[]> {
  const found = await onePass(app, progress);
  if (found.every(({ state }) => state === "ok")) return found;
  const again = await onePass(app, progress);
  const ids = new Set(found.map(({ id }) => id));
  return again.filter(({ id, state }) => state === "ok" || ids.has(id));
}

async function onePass(app: CrewApp, progress: Progress): Promise<Finding[]> {
  progress("reading versions, events and git history");
  const record = await readRecord(app);
  const { versions, history, events } = record;
  const ref = app.files ? await checkHistoryRef(app) : [];
  progress(`reading the texts of ${versions.length} versions`);
  const texts = await readTexts(app, record);
  const unreadable = history?.unreadable;
  const inHistory = compareHistory(record, app.config.wiki);
  // One finding about the ref says it for all versions that it no longer has.
  const shown = ref.length > 0 ? inHistory.filter(({ kind }) => kind !== "version-not-in-history") : inHistory;
  return [
    ...ref,
    ...(unreadable === undefined ? [] : [damagedHistory(unreadable)]),
    ...findings(
      "history",
      shown,
      `${countOf(versions.length, "version")} in git`,
      !app.files || ref.length > 0 || unreadable !== undefined,
    ),
    ...findings("texts", texts.broken, textsRead(texts.read, versions.length)),
    ...findings("events", compareEvents(record), `${countOf(events.length, "event")} match their versions`),
    ...(await checkChain(app, app.files ? (history?.versions ?? []) : await mirroredVersions(app))),
    ...checkLogs(record),
    ...findings(
      "index",
      compareIndex(record, texts.newest, await allLinks(app.db.read)),
      "the index matches the newest versions",
    ),
  ];
}

function findings(check: string, broken: Broken[], fine: string, silent = false): Finding[] {
  const make = findingsOf("wiki", check);
  if (broken.length > 0) return describeBroken(broken, make);
  return silent ? [] : [make.ok(fine)];
}

const damagedHistory = (why: string) =>
  findingsOf("wiki", "history").problem(
    `git cannot read the history: ${why.split("\n", 1)[0]}`,
    "git fsck; then restore .git from a backup, or fetch refs/scriptorium/history from one",
    { kind: "history-unreadable", evidence: why },
  );

const textsRead = (read: number, all: number) =>
  read === all
    ? `all ${all} texts are intact`
    : `${read} of ${all} texts were read and are intact; the others are in place`;

const countOf = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
