import { crashPoint } from "../../store/disk/crash.ts";
import { parseJsonOr } from "../../store/json.ts";
import { deleteMeta, findMeta, unfinishedRerunKey } from "../../store/queries/meta.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { openTrees } from "./crew.ts";

/**
 * What a rerun has left to do after its transaction. Stored in that transaction, because a crash before the branch was
 * set back would let the repeated tasks start on top of their old files.
 */
export type UnfinishedRerun<Shown = unknown> = {
  /** As the person named it. */
  asked: string;
  /** The move of the accepted branch; null for a run without accepted files. */
  back: { from: string; to: string } | null;
  /** The answer to the person. */
  shown: Shown;
};

/** The rerun of a run that was interrupted, if any. */
export async function unfinishedRerun<Shown>(
  { db }: CrewApp,
  run: string,
): Promise<UnfinishedRerun<Shown> | undefined> {
  const stored = await findMeta(db.read, unfinishedRerunKey(run));
  return stored === undefined ? undefined : parseJsonOr<UnfinishedRerun<Shown> | undefined>(stored, undefined);
}

/** Ends the rerun of a run if it was interrupted. */
export async function finishRerun(app: CrewApp, run: string): Promise<void> {
  const unfinished = await unfinishedRerun(app, run);
  if (!unfinished) return;
  // Moves only what is still where the rerun found it.
  if (unfinished.back) await (await openTrees(app)).setBack(run, unfinished.back);
  crashPoint("rerun-set-back");
  await app.db.write((tx) => deleteMeta(tx, unfinishedRerunKey(run)));
}
