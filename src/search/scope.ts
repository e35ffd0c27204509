import { type RawBuilder, sql } from "kysely";
import type { Database } from "../store/database.ts";
import { amongTexts } from "./lists.ts";

/** What a search may find: what the caller may read, and of that what they asked for. */
export type Scope = {
  kinds: string[];
  /** For an agent at work on a task of a run: nothing that belongs to another run. */
  run?: string;
  /** Nodes of this type only, or things of a kind of this name. */
  type?: string;
  /** This id, or the ids of this folder. */
  section?: string;
  author?: string;
  /** Days, as 2026-11-15. */
  before?: string;
  after?: string;
};

/** The scope as a condition on `t`, a row of things: applied before anything is ranked. */
export function within(engine: Database["engine"], scope: Scope): RawBuilder<boolean> {
  const rules = [sql`t.kind ${amongTexts(engine, scope.kinds)}`];
  if (scope.run !== undefined) rules.push(sql`t.run IN ('', ${scope.run})`);
  if (scope.type !== undefined) rules.push(sql`t.type = ${scope.type}`);
  if (scope.section !== undefined) {
    const folder = `${scope.section}/`;
    rules.push(sql`(t.id = ${scope.section} OR substr(t.id, 1, ${sql.lit([...folder].length)}) = ${folder})`);
  }
  // SQLite makes only a to z small: others are found as they are written.
  if (scope.author !== undefined)
    rules.push(sql`(lower(t.author) LIKE ${likely(scope.author.toLowerCase())} ESCAPE '!'
      OR t.author LIKE ${likely(scope.author)} ESCAPE '!')`);
  if (scope.before !== undefined) rules.push(sql`t.at < ${scope.before}`);
  if (scope.after !== undefined) rules.push(sql`t.at >= ${scope.after}`);
  return sql<boolean>`${sql.join(rules, sql` AND `)}`;
}

/** The rights among it, for what is held in memory: of a thing, these never change. */
export const mayRead = (scope: Scope, thing: { kind: string; run: string }): boolean =>
  scope.kinds.includes(thing.kind) && (scope.run === undefined || thing.run === "" || thing.run === scope.run);

/** What the caller may read at all, whatever else they asked for. */
export const onlyRights = ({ kinds, run }: Scope): Scope => (run === undefined ? { kinds } : { kinds, run });

/** Whether it is narrowed by more than rights. */
export const isNarrowed = ({ kinds: _kinds, run: _run, ...rest }: Scope): boolean =>
  Object.values(rest).some((value) => value !== undefined);

const likely = (text: string) => `%${text.replace(/[!%_]/g, "!$&")}%`;
