import type { Page } from "../../wiki/pages/pages.ts";

const mostTexts = 64;
const mostCharacters = 8_000_000;

/**
 * Texts of pages that people were shown last. Git has none of a page that was edited and not committed, yet a
 * selection in the old text must be found in the new one.
 */
export function recentTexts() {
  const texts = new Map<string, string>();
  let characters = 0;
  const drop = (blob: string) => {
    characters -= texts.get(blob)?.length ?? 0;
    texts.delete(blob);
  };
  return {
    add({ path, blob, text }: Pick<Page, "path" | "blob" | "text">): void {
      const key = keyOf(path, blob);
      drop(key);
      texts.set(key, text);
      characters += text.length;
      for (const oldest of texts.keys()) {
        if (texts.size <= mostTexts && characters <= mostCharacters) return;
        drop(oldest);
      }
    },
    get: (path: string, blob: string) => texts.get(keyOf(path, blob)),
  };
}

const keyOf = (path: string, blob: string) => `${blob} ${path}`;
