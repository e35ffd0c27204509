import { clearDraft, loadDraft, saveDraft, useDraft } from "../client/draft.ts";

/** Unsaved edits of a plan. `base` is the text they began from. */
export type PlanDraft = { text: string; base: string; hash: string };

const keyOf = (run: string) => `plan ${run}`;

export const loadPlanDraft = (run: string) => loadDraft<PlanDraft>(keyOf(run));
export const keepPlanDraft = (run: string, draft: PlanDraft) => saveDraft(keyOf(run), draft);
export const dropPlanDraft = (run: string) => clearDraft(keyOf(run));

/** Whether this browser has unsaved edits of the plan. */
export const useHasPlanDraft = (run: string) => useDraft<PlanDraft | undefined>(keyOf(run), undefined).isKept;
