import { historyRefOf } from "../../store/git/history-ref.ts";
import { historyTip } from "../../store/git/recorder.ts";
import { resetHistory } from "../../store/git/restore-history.ts";
import { findMeta } from "../../store/queries/meta.ts";
import type { Repair } from "./repair.ts";

/** Points the history ref at the commit that it was last moved to, while git still has it. */
export const repairHistoryRef: Repair = {
  kinds: ["history-ref-deleted", "history-ref-reset", "history-ref-replaced"],
  async run({ db, git, recorder }) {
    const known = await findMeta(db.read, historyTip);
    if (known === undefined || !(await git.commitAt(known))) return [];
    const ref = await historyRefOf(git);
    const tip = await git.commitAt(ref);
    const done = await recorder.exclusively(() => resetHistory(git, known));
    if (!done) return [];
    const before = tip ? `at ${tip.slice(0, 12)}` : "missing";
    const kept = done.kept ? `; ${done.kept} keeps what it pointed at` : "";
    return [{ subject: ref, before, after: `at ${known.slice(0, 12)}, as last recorded${kept}` }];
  },
};
