import { splitHidden } from "../../kernel/hidden.ts";
import { type Refusal, refuse } from "../../kernel/result.ts";

/** Hidden characters of a proposal, with the line or field that has them. */
export type HiddenText = { where: string; characters: string };

/** The hidden characters in the fields of a section's proposal. */
export const hiddenFields = (data: Record<string, unknown>): HiddenText[] =>
  Object.entries(data).flatMap(([name, value]) => {
    const text = Array.isArray(value) ? value.map(String).join(" ") : String(value);
    const characters = splitHidden(text).flatMap((piece) => (piece.hidden ? [piece.text] : []));
    return characters.length > 0 ? [{ where: name.replaceAll("_", " "), characters: characters.join(" ") }] : [];
  });

const mostNamed = 5;

/** The refusal of an approval without `accept_hidden`. */
export function hiddenRefusal(id: string, found: readonly HiddenText[]): Refusal {
  const named = found.slice(0, mostNamed).map(({ where, characters }) => `${where}: ${characters}`);
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : "";
  return refuse("refused", `proposal ${id} adds hidden characters (${named.join("; ")}${more})`, {
    next: [
      { operation: "show_proposal", input: { id }, to: "check them" },
      { operation: "approve_proposal", input: { id, accept_hidden: true }, to: "approve the text with them" },
    ],
  });
}
