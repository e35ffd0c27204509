import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import type { Person } from "../kernel/caller.ts";
import { ok, type Result } from "../kernel/result.ts";
import { joined, type Query } from "../store/database.ts";
import { kept } from "../store/kept.ts";
import { countEdges, readEdge } from "../store/queries/edges.ts";
import { findNode } from "../store/queries/graph.ts";
import { isUnder, type Written } from "../wiki/revert.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { graphChanges } from "./changes.ts";
import { merge, type Properties } from "./node.ts";

/** One change to a node or an edge, as its event tells it. */
export type Change = { kind: string; actor: string; data: Record<string, unknown> };

/** A node or an edge as it was; undefined where there was none. */
type State = { type: string; properties: Properties; from?: string; to?: string } | undefined;

export type Undo = { before: State; now: State; changedBy: string[] };

/** The state before the changes to be reverted, and who has changed it since. Pure. */
export function undoOf(changes: Change[], wanted: Written): Undo | undefined {
  let now: State;
  let stain: Omit<Undo, "now"> | undefined;
  for (const change of changes) {
    const after = applied(now, change);
    if (isUnder(wanted, change.data)) stain ??= { before: now, changedBy: [] };
    else if (stain && isDeepStrictEqual(after, stain.before)) stain = undefined;
    else if (stain) stain.changedBy.push(change.actor);
    now = after;
  }
  return stain && { ...stain, now };
}

function applied(state: State, { kind, data }: Change): State {
  if (kind.endsWith("-deleted")) return undefined;
  if (kind === "node-updated")
    return state && { ...state, properties: merge(state.properties, data.changes as Properties) };
  const { type, properties, from, to } = data as NonNullable<State>;
  return { type, properties: properties ?? {}, ...(from === undefined ? {} : { from, to }) } as State;
}

const kinds = ["node-added", "node-updated", "node-deleted", "edge-added", "edge-deleted"];

/** Everything that was ever done to what was changed under these, in order, by the subject of its events. */
async function changesUnder(query: Query, wanted: Written): Promise<Map<string, Change[]>> {
  const [name, value] = Object.entries(wanted).find(([, given]) => given !== undefined) ?? ["role", ""];
  const said = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  const { rows } = await sql<{ kind: string; actor: string; subject: string; data: string }>`
    SELECT kind, actor, subject, data FROM events
    WHERE kind IN (${sql.join(kinds)}) AND subject IN (
      SELECT subject FROM events WHERE kind IN (${sql.join(kinds)}) AND ${contains(said)}
    )
    ORDER BY seq`.execute(query);
  const found = new Map<string, Change[]>();
  for (const { kind, actor, subject, data } of rows)
    found.set(subject, [...(found.get(subject) ?? []), { kind, actor, data: kept(data, {}) }]);
  return found;
}

/** As the text of the data has it; whether it is what is meant, its meaning tells later. */
const contains = (said: string) => sql`data LIKE ${`%${said.replaceAll(/[\\%_]/g, "\\$&")}%`} ESCAPE '\\'`;

export type Reverted = { removed: string[]; restored: string[]; needsPerson: { what: string; why: string }[] };

/** Takes back what can be, inside the caller's transaction; with `look` only says what that would be. */
export async function revertGraph(
  app: WikiApp,
  tx: Query,
  wanted: Written,
  person: Person,
  look: boolean,
): Promise<Reverted> {
  const { engine } = app.db;
  const within = graphChanges({ ...app, db: joined(app.db, tx) }, person);
  const done: Reverted = { removed: [], restored: [], needsPerson: [] };
  const ask = (what: string, why: string) => void done.needsPerson.push({ what, why });
  const undos = [...(await changesUnder(tx, wanted))].flatMap(([subject, changes]) => {
    const undo = undoOf(changes, wanted);
    return undo && !isDeepStrictEqual(undo.before, undo.now) ? [{ subject, ...undo }] : [];
  });
  const own = new Set(undos.filter(({ before }) => before === undefined).map(({ subject }) => subject));

  /** Does one change, unless it is only a look; what the graph refuses is for a person. */
  const take = async (subject: string, list: string[], change: () => Promise<Result<unknown>>): Promise<void> => {
    const taken = look ? ok(undefined) : await change();
    if (taken.ok) list.push(subject);
    else ask(subject, taken.problem.message);
  };
  const of = (noun: string) => undos.filter(({ subject }) => subject.startsWith(noun));

  // Edges go first and come back last: a node with edges of others is not taken away from under them.
  for (const { subject, before, now } of of("edge:"))
    if (!before && now && (await readEdge({ ...app.db, read: tx }, idOf(subject))))
      await take(subject, done.removed, () => within.deleteEdge(idOf(subject)));
  for (const { subject, before, now, changedBy } of of("node:")) {
    const id = idOf(subject);
    const row = await findNode(tx, engine, id);
    const foreign = row && !before ? (await countEdges(tx, id)) - (look ? await ownEdges(tx, id, own) : 0) : 0;
    if (changedBy.length > 0) ask(subject, `changed since by ${[...new Set(changedBy)].join(", ")}`);
    else if (foreign > 0) ask(subject, `${foreign} edges of others lead to it or from it`);
    else if (!before) await take(subject, done.removed, () => within.deleteNode(id));
    else if (row && now) {
      const changes = { ...nothing(now.properties), ...before.properties };
      await take(subject, done.restored, () => within.updateNode(id, row.version, changes));
    } else {
      const { type, properties } = before;
      await take(subject, done.restored, () => within.addNode({ id, type, properties }));
      ask(subject, "it was deleted, and its edges with it; it comes back without them");
    }
  }
  for (const { subject, before } of of("edge:")) {
    if (!before) continue;
    const { type, from = "", to = "", properties } = before;
    await take(subject, done.restored, () => within.addEdge({ type, from, to, properties }));
  }
  return done;
}

/** How many edges of a node are about to go anyway. */
async function ownEdges(tx: Query, node: string, own: Set<string>): Promise<number> {
  const rows = await tx
    .selectFrom("edges")
    .select("id")
    .where((x) => x.or([x("from_id", "=", node), x("to_id", "=", node)]))
    .execute();
  return rows.filter(({ id }) => own.has(`edge:${id}`)).length;
}

const idOf = (subject: string) => subject.slice("node:".length);

/** Each name with nothing in it. */
const nothing = (properties: Properties): Properties =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
