import type { Statement } from "../../store/crew-tables.ts";
import { plainText, withoutLogPrefix } from "../../trust/passages.ts";
import type { CrewApp } from "./crew-app.ts";

/** A statement whose evidence is a passage that lost its trust, and what is wrong with that. */
export type DoubtedCitation = { statement: string; doubt: string };

const shortest = 12;

/** The statements whose evidence quotes a passage that is stale, disputed or withdrawn. */
export async function doubtedCitations(
  { trust }: CrewApp,
  statements: readonly Pick<Statement, "statement" | "evidence">[],
): Promise<DoubtedCitation[]> {
  if (statements.length === 0) return [];
  const doubtful = (await trust.doubtful()).map(({ text, ...one }) => ({
    ...one,
    text: plainText(withoutLogPrefix(text)),
  }));
  return statements.flatMap(({ statement, evidence }) => {
    const quote = plainText(withoutLogPrefix(evidence));
    if (quote.length < shortest) return [];
    const found = doubtful.find(
      ({ text }) => text.length >= shortest && (text.includes(quote) || quote.includes(text)),
    );
    return found ? [{ statement, doubt: `${found.place} is ${found.state}${found.why ? `: ${found.why}` : ""}` }] : [];
  });
}

/** "2 of 5 statements rest on passages that lost their trust"; empty if none does. */
export const shareOfDoubted = (doubted: readonly DoubtedCitation[], all: number) =>
  doubted.length === 0
    ? ""
    : `${doubted.length} of ${all} ${all === 1 ? "statement rests" : "statements rest"} on passages that lost their trust`;
