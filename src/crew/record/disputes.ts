import type { Statement } from "../../store/crew-tables.ts";
import { contradiction } from "../../trust/contradiction.ts";
import type { CrewApp } from "./crew-app.ts";

const mostStatements = 20;
const mostPassages = 20;
const longestQuery = 500;

/** Statements whose evidence another source contradicts with other values: an issue for the verifier (T3). */
export async function disputesOf(app: CrewApp, statements: Statement[]): Promise<string[]> {
  const found: string[] = [];
  const withNumbers = statements.filter((one) => /\d/.test(one.evidence)).slice(0, mostStatements);
  for (const { statement, evidence } of withNumbers) {
    const { hits } = await app.search.find.passages(evidence.slice(0, longestQuery), {
      scope: { kinds: ["source"] },
      limit: mostPassages,
      without: ["meaning", "links"],
    });
    const other = contradiction(evidence, hits);
    if (other) found.push(`${statement} (its evidence is disputed: ${other.id} says "${other.says}")`);
  }
  return found;
}
