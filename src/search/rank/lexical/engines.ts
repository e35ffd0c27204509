import type { Database } from "../../../store/database.ts";
import {
  type IndexTotals,
  type Requirements,
  rankLexemes,
  rankLimits,
  rankMatches,
  type ScoredPassage,
  spelledFor,
  without,
} from "../../../store/queries/search/ranking.ts";
import type { Reader, Scope } from "../../../store/queries/search/scope.ts";
import type { Choice, Term } from "./choose.ts";

type Wanted = Choice & { excluded: Requirements[] };
type Rank = (db: Reader, choice: Wanted, totals: IndexTotals, limit: number, scope?: Scope) => Promise<ScoredPassage[]>;

/** BM25 on both engines: SQLite computes it itself, for PostgreSQL the weights of the words are computed here. */
export const rank: Record<Database["engine"], Rank> = {
  sqlite(db, choice, _totals, limit, scope) {
    return rankMatches(db, { ...expressionsFor(choice), limit }, scope);
  },
  postgres(db, choice, totals, limit, scope) {
    const words = [...choice.selecting, ...choice.scoring].map((term) => ({
      word: spelledFor.postgres(term),
      weight: weightOf(term, totals.passages),
    }));
    const selecting = choice.selecting.map(spelledFor.postgres);
    const since = choice.isCommon ? reachOf(choice.selecting, totals) : undefined;
    const any = without("postgres", selecting.join(" | "), choice.excluded);
    const all = without("postgres", selecting.join(" & "), choice.excluded);
    return rankLexemes(db, { words, any, all, since, length: totals.length, limit }, scope);
  },
};

function expressionsFor({ selecting, scoring, isCommon, excluded }: Wanted): {
  wide: string;
  narrow: string | undefined;
} {
  const joined = (terms: Term[], operator: string) => terms.map(spelledFor.sqlite).join(operator);
  const left = (match: string) => without("sqlite", match, excluded);
  const wide = joined(selecting, " OR ");
  if (isCommon)
    return { wide: left(wide), narrow: selecting.length > 1 ? left(joined(selecting, " AND ")) : undefined };
  const narrow = scoring.length > 0 ? left(`(${wide}) AND (${joined(scoring, " OR ")})`) : undefined;
  return { wide: left(wide), narrow };
}

/** Inverse document frequency times (k1 + 1). */
function weightOf({ count }: Term, passages: number): number {
  const others = Math.max(0, passages - count);
  return 2.2 * Math.max(1e-6, Math.log((others + 0.5) / (count + 0.5)));
}

/** The passage numbers above which about as many matches are expected as may be ranked. */
function reachOf(terms: Term[], { passages, last }: IndexTotals): { any: number; all: number } {
  const shares = terms.map(({ count }) => Math.min(1, count / passages));
  const since = (share: number) => Math.floor(last - rankLimits.postgres.ranked / share);
  return { any: since(Math.max(...shares)), all: since(shares.reduce((product, share) => product * share)) };
}
