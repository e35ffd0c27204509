/** Unsaved texts, kept in the browser: a reload, a crash or a lost connection costs nothing. */
export type Draft = { text: string; base: string; version: number };

const keyOf = (id: string) => `scriptorium draft ${id}`;

export function loadDraft(id: string): Draft | undefined {
  try {
    const read = JSON.parse(localStorage.getItem(keyOf(id)) ?? "null") as Partial<Draft> | null;
    const isWhole = typeof read?.text === "string" && typeof read.base === "string" && typeof read.version === "number";
    return isWhole ? (read as Draft) : undefined;
  } catch {
    return undefined;
  }
}

export function keepDraft(id: string, draft: Draft): void {
  localStorage.setItem(keyOf(id), JSON.stringify(draft));
}

export const dropDraft = (id: string): void => localStorage.removeItem(keyOf(id));
