import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../database.ts";
import { among, type List, listOf } from "../../lists.ts";
import { eachOnce, onEach, type SlotOf } from "../../prepared.ts";

type Engine = Database["engine"];

/** The things that a search may return: those that the caller may read, narrowed by the query's filters. */
export type Scope = {
  kinds: string[];
  /** Set for an agent that works on a task of this run: things of other runs are excluded. */
  run?: string;
  /** Only nodes of this type, or things of this kind. */
  type?: string;
  /** Only this id, or ids in this folder. */
  section?: string;
  author?: string;
  /** Days, as 2026-11-15. */
  before?: string;
  after?: string;
};

/** A database connection and its engine; a transaction has both too. */
export type Reader = Pick<Database, "engine" | "read">;

/**
 * A query over `things t` that is restricted to a scope. `build` must put `isInside` where it applies before
 * ranking and LIMIT. One statement is compiled for each combination of filters.
 */
export function scoped<P extends object, R>(
  build: (engine: Engine, slot: SlotOf<P>, isInside: RawBuilder<boolean>) => RawBuilder<R>,
): (db: Reader, scope: Scope, values: P) => Promise<R[]> {
  const query = eachOnce((filters: string) =>
    onEach<P & Bounds, R>((engine, slot) => build(engine, slot, within(engine, filters.split(" "), slot))),
  );
  return ({ engine, read }, scope, values) => {
    const bounds = boundsOf(engine, scope);
    return query(Object.keys(bounds).join(" "))[engine](read, { ...values, ...bounds });
  };
}

/** A scope's filters as query parameters. */
type Bounds = {
  kinds: List;
  run?: string;
  type?: string;
  section?: string;
  folder?: string;
  folderLength?: number;
  author?: string;
  authorLowerCase?: string;
  before?: string;
  after?: string;
};

function boundsOf(engine: Engine, { kinds, run, type, section, author, before, after }: Scope): Bounds {
  const folder = `${section}/`;
  return {
    kinds: listOf[engine](kinds),
    ...(run === undefined ? {} : { run }),
    ...(type === undefined ? {} : { type }),
    ...(section === undefined ? {} : { section, folder, folderLength: [...folder].length }),
    ...(author === undefined
      ? {}
      : { author: containsPattern(author), authorLowerCase: containsPattern(author.toLowerCase()) }),
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  };
}

function within(engine: Engine, names: string[], slot: SlotOf<Bounds>): RawBuilder<boolean> {
  const conditions: Partial<Record<string, RawBuilder<unknown>>> = {
    kinds: sql`t.kind ${among[engine](slot("kinds"))}`,
    run: sql`t.run IN ('', ${slot("run")})`,
    type: sql`t.type = ${slot("type")}`,
    section: sql`(t.id = ${slot("section")}
      OR substr(t.id, 1, CAST(${slot("folderLength")} AS INTEGER)) = ${slot("folder")})`,
    // SQLite's lower() handles ASCII only; names with other letters match as written.
    author: sql`(lower(t.author) LIKE ${slot("authorLowerCase")} ESCAPE '!' OR t.author LIKE ${slot("author")} ESCAPE '!')`,
    before: sql`t.at < ${slot("before")}`,
    after: sql`t.at >= ${slot("after")}`,
  };
  return sql<boolean>`${sql.join(
    names.flatMap((name) => conditions[name] ?? []),
    sql` AND `,
  )}`;
}

/** A LIKE pattern, with `!` as its escape character. */
const containsPattern = (text: string) => `%${text.replace(/[!%_]/g, "!$&")}%`;
