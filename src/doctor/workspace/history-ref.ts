import type { CrewApp } from "../../crew/record/crew-app.ts";
import { historyRef, historyRefOf } from "../../store/git/history-ref.ts";
import { historyTip } from "../../store/git/recorder.ts";
import { findMeta } from "../../store/queries/meta.ts";
import { type Finding, findingsOf } from "../finding.ts";

/**
 * The history ref has the commit that the recorder last moved it to. A ref that was deleted or reset is found even
 * if every text still happens to be in the repository.
 */
export async function checkHistoryRef({ git, db }: CrewApp): Promise<Finding[]> {
  const { problem } = findingsOf("wiki", "history");
  const known = await findMeta(db.read, historyTip);
  const ref = (await git.isRepository()) ? await historyRefOf(git) : historyRef;
  const tip = await git.commitAt(ref);
  if (known === undefined || known === tip || (tip && (await git.isAncestor(known, tip)))) return [];
  const was = `it was at ${known.slice(0, 12)}`;
  const lost = (await git.commitAt(known)) === undefined ? "; git no longer has that commit" : "";
  const about = { subject: ref, evidence: `${known} ${tip ?? "none"}` };
  const fix = "scriptorium doctor --fix";
  if (!tip) return [problem(`${ref} was deleted; ${was}${lost}`, fix, { ...about, kind: "history-ref-deleted" })];
  if (!lost && (await git.isAncestor(tip, known)))
    return [problem(`${ref} was reset to ${tip.slice(0, 12)}; ${was}`, fix, { ...about, kind: "history-ref-reset" })];
  return [
    problem(`${ref} was rewritten or pointed at ${tip.slice(0, 12)}; ${was}${lost}`, fix, {
      ...about,
      kind: "history-ref-replaced",
    }),
  ];
}
