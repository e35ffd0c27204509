import { ok, type Result } from "../../kernel/result.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { parseJsonOr } from "../../store/json.ts";
import { deleteMeta, findMeta, unfinishedRerunKey } from "../../store/queries/meta.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { openTrees } from "./crew.ts";

/**
 * What a rerun has left to do after its transaction. Stored in that transaction, because a crash before the branch was
 * set back would let the repeated tasks start on top of their old files.
 */
export type UnfinishedRerun<Shown extends Repeated = Repeated> = {
  /** As the person named it. */
  asked: string;
  /** The answer to the person. */
  shown: Shown;
};

/** The tasks that are taken out of the accepted work. */
type Repeated = { repeated: { id: string }[] };

/** The rerun of a run that was interrupted, if any. */
export async function unfinishedRerun<Shown extends Repeated = Repeated>(
  { db }: CrewApp,
  run: string,
): Promise<UnfinishedRerun<Shown> | undefined> {
  const stored = await findMeta(db.read, unfinishedRerunKey(run));
  return stored === undefined ? undefined : parseJsonOr<UnfinishedRerun<Shown> | undefined>(stored, undefined);
}

/** Ends the rerun of a run if it was interrupted. */
export async function finishRerun(app: CrewApp, run: string): Promise<Result<true>> {
  const unfinished = await unfinishedRerun(app, run);
  if (!unfinished) return ok(true);
  const trees = await openTrees(app);
  if (await trees.hasAccepted(run)) {
    const back = await trees.setBack(run, new Set(unfinished.shown.repeated.map(({ id }) => id)));
    if (!back.ok) return back;
  }
  crashPoint("rerun-set-back");
  await app.db.write((tx) => deleteMeta(tx, unfinishedRerunKey(run)));
  return ok(true);
}
