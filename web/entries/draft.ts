import { clearDraft, loadDraft, saveDraft } from "../client/draft.ts";

/** The unsaved text of an entry and the version it is based on. */
export type Draft = { text: string; base: string; version: number };

const keyOf = (id: string) => `entry ${id}`;

export function loadEntryDraft(id: string): Draft | undefined {
  const read = loadDraft<Partial<Draft> | null>(keyOf(id));
  const isWhole = typeof read?.text === "string" && typeof read.base === "string" && typeof read.version === "number";
  return isWhole ? (read as Draft) : undefined;
}

export const keepDraft = (id: string, draft: Draft): void => saveDraft(keyOf(id), draft);
export const dropDraft = (id: string): void => clearDraft(keyOf(id));
