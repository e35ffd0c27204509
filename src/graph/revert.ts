import { isDeepStrictEqual } from "node:util";
import type { Person } from "../kernel/caller.ts";
import { ok, type Result } from "../kernel/result.ts";
import { joined, type Query } from "../store/database.ts";
import { countEdges, edgeIdsOf, readEdge } from "../store/queries/edges.ts";
import { graphEventsWith } from "../store/queries/event-log.ts";
import { findNode } from "../store/queries/nodes.ts";
import type { WriterFilter } from "../store/queries/versions.ts";
import { isUnder } from "../wiki/revert.ts";
import type { WikiApp } from "../wiki/wiki-app.ts";
import { graphChanges } from "./changes.ts";
import { merge, type Properties } from "./node.ts";

/** A change to a node or an edge, from its event. */
type Change = { kind: string; actor: string; data: Record<string, unknown> };

/** The state of a node or an edge; undefined while it does not exist. */
type State = { type: string; properties: Properties; from?: string; to?: string } | undefined;

type Undo = { before: State; now: State; changedBy: string[] };

/** The state before the first matching change, and the others who have changed it since. */
export function undoOf(changes: Change[], wanted: WriterFilter): Undo | undefined {
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

/** Every change to what a matching agent has changed, oldest first, by the subject of its events. */
async function changesBySubject(query: Query, filter: WriterFilter): Promise<Map<string, Change[]>> {
  const [name, value] = Object.entries(filter).find(([, given]) => given !== undefined) ?? ["role", ""];
  const found = new Map<string, Change[]>();
  for (const { kind, actor, subject, data } of await graphEventsWith(query, name, value))
    found.set(subject, [...(found.get(subject) ?? []), { kind, actor, data }]);
  return found;
}

export type Reverted = { removed: string[]; restored: string[]; needsPerson: { what: string; why: string }[] };

/** Reverts matching changes inside the caller's transaction; with `look` only reports them. */
export async function revertGraph(
  app: WikiApp,
  tx: Query,
  wanted: WriterFilter,
  person: Person,
  look: boolean,
): Promise<Reverted> {
  const { engine } = app.db;
  const within = graphChanges({ ...app, db: joined(app.db, tx) }, person);
  const done: Reverted = { removed: [], restored: [], needsPerson: [] };
  const ask = (what: string, why: string) => void done.needsPerson.push({ what, why });
  const undos = [...(await changesBySubject(tx, wanted))].flatMap(([subject, changes]) => {
    const undo = undoOf(changes, wanted);
    return undo && !isDeepStrictEqual(undo.before, undo.now) ? [{ subject, ...undo }] : [];
  });
  const own = new Set(undos.filter(({ before }) => before === undefined).map(({ subject }) => subject));

  /** Makes a change unless `look` is set; a refusal is left to a person. */
  const take = async (subject: string, list: string[], change: () => Promise<Result<unknown>>): Promise<void> => {
    const taken = look ? ok(undefined) : await change();
    if (taken.ok) list.push(subject);
    else ask(subject, taken.problem.message);
  };
  const of = (noun: string) => undos.filter(({ subject }) => subject.startsWith(noun));

  // Edges are removed first and restored last, so that a node is not removed while others have edges to it.
  for (const { subject, before, now } of of("edge:"))
    if (!before && now && (await readEdge({ ...app.db, read: tx }, idOf(subject))))
      await take(subject, done.removed, () => within.deleteEdge(idOf(subject)));
  for (const { subject, before, now, changedBy } of of("node:")) {
    const id = idOf(subject);
    const row = await findNode(tx, engine, id);
    const foreign = row && !before ? (await countEdges(tx, id)) - (look ? await ownEdges(tx, id, own) : 0) : 0;
    if (changedBy.length > 0) ask(subject, `changed since by ${[...new Set(changedBy)].join(", ")}`);
    else if (foreign > 0) ask(subject, `others have added ${foreign} edges to it`);
    else if (!before) await take(subject, done.removed, () => within.deleteNode(id));
    else if (row && now) {
      const changes = { ...nothing(now.properties), ...before.properties };
      await take(subject, done.restored, () => within.updateNode(id, row.version, changes));
    } else {
      const { type, properties } = before;
      await take(subject, done.restored, () => within.addNode({ id, type, properties }));
      ask(subject, "it was deleted with its edges; it is restored without them");
    }
  }
  for (const { subject, before } of of("edge:")) {
    if (!before) continue;
    const { type, from = "", to = "", properties } = before;
    await take(subject, done.restored, () => within.addEdge({ type, from, to, properties }));
  }
  return done;
}

/** The number of edges of a node that are removed in the same revert. */
const ownEdges = async (tx: Query, node: string, own: Set<string>): Promise<number> =>
  (await edgeIdsOf(tx, node)).filter((id) => own.has(`edge:${id}`)).length;

const idOf = (subject: string) => subject.slice("node:".length);

/** Sets every property to null. */
const nothing = (properties: Properties): Properties =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
