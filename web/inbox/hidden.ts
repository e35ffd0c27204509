import { splitHidden } from "../../src/kernel/hidden.ts";
import type { HiddenText } from "../../src/review/proposals/hidden-text.ts";
import { filesOf } from "./patched-files.tsx";

/** The hidden characters of texts, each with the name of its place. */
export const hiddenIn = (texts: readonly (readonly [where: string, text: string | null])[]): HiddenText[] =>
  texts.flatMap(([where, text]) => {
    const characters = splitHidden(text ?? "").flatMap((piece) => (piece.hidden ? [piece.text] : []));
    return characters.length > 0 ? [{ where, characters: characters.join(" ") }] : [];
  });

/** The hidden characters of the lines that a patch adds. */
export const hiddenInPatch = (diff: string): HiddenText[] =>
  hiddenIn(
    (diff === "" ? [] : filesOf(diff)).flatMap(({ path, hunks }) =>
      hunks.flatMap(({ new_start: start, lines }) =>
        lines
          .filter((line) => !line.startsWith("-") && !line.startsWith("\\"))
          .map((line, at) => ({ line, number: start + at }))
          .filter(({ line }) => line.startsWith("+"))
          .map(({ line, number }) => [`${path} line ${number}`, line.slice(1)] as const),
      ),
    ),
  );
