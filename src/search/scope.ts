import { type RawBuilder, sql } from "kysely";
import type { Database } from "../store/database.ts";
import { among, type List, listOf } from "../store/lists.ts";
import { eachOnce, onEach, type SlotOf } from "../store/prepared.ts";

type Engine = Database["engine"];

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

/**
 * A query over `t`, a row of things, within a scope: the condition that `build` is given is applied before
 * anything is ranked. It is built once for each set of what scopes are narrowed by.
 */
export function scoped<P extends object, R>(
  build: (engine: Engine, slot: SlotOf<P>, isInside: RawBuilder<boolean>) => RawBuilder<R>,
): (db: Pick<Database, "engine" | "read">, scope: Scope, values: P) => Promise<R[]> {
  const query = eachOnce((rules: string) =>
    onEach<P & Bounds, R>((engine, slot) => build(engine, slot, within(engine, rules.split(" "), slot))),
  );
  return ({ engine, read }, scope, values) => {
    const bounds = boundsOf(engine, scope);
    return query(Object.keys(bounds).join(" "))[engine](read, { ...values, ...bounds });
  };
}

/** What a scope is narrowed by, as the engine is told it. */
type Bounds = {
  kinds: List;
  run?: string;
  type?: string;
  section?: string;
  folder?: string;
  folderLength?: number;
  author?: string;
  authorInSmall?: string;
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
    ...(author === undefined ? {} : { author: likely(author), authorInSmall: likely(author.toLowerCase()) }),
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  };
}

function within(engine: Engine, names: string[], slot: SlotOf<Bounds>): RawBuilder<boolean> {
  const rules: Partial<Record<string, RawBuilder<unknown>>> = {
    kinds: sql`t.kind ${among[engine](slot("kinds"))}`,
    run: sql`t.run IN ('', ${slot("run")})`,
    type: sql`t.type = ${slot("type")}`,
    section: sql`(t.id = ${slot("section")}
      OR substr(t.id, 1, CAST(${slot("folderLength")} AS INTEGER)) = ${slot("folder")})`,
    // SQLite makes only a to z small: others are found as they are written.
    author: sql`(lower(t.author) LIKE ${slot("authorInSmall")} ESCAPE '!' OR t.author LIKE ${slot("author")} ESCAPE '!')`,
    before: sql`t.at < ${slot("before")}`,
    after: sql`t.at >= ${slot("after")}`,
  };
  return sql<boolean>`${sql.join(
    names.flatMap((name) => rules[name] ?? []),
    sql` AND `,
  )}`;
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
