import type { Schema, Section } from "../schema.ts";

/** What a version of schema.yaml changed, in words. `widened` and `narrowed` are about the rights of agents. */
export type SchemaChanges = {
  added: string[];
  removed: string[];
  renamed: string[];
  widened: string[];
  narrowed: string[];
  other: string[];
};

export const noChanges: SchemaChanges = { added: [], removed: [], renamed: [], widened: [], narrowed: [], other: [] };

/** `renamed` maps old ids of sections to new ones: a file alone cannot tell a rename from a removal and an addition. */
export function compareSchemas(
  before: Schema,
  after: Schema,
  renamed: ReadonlyMap<string, string> = new Map(),
): SchemaChanges {
  const old = new Map(before.sections.map((section) => [renamed.get(section.id) ?? section.id, section]));
  const now = new Map(after.sections.map((section) => [section.id, section]));
  const both = after.sections.flatMap((section): [Section, Section][] => {
    const was = old.get(section.id);
    return was ? [[was, section]] : [];
  });
  const rights = both.map(([was, is]) => compareRights(was, is));
  const limits = compareLimits(before, after);
  return {
    added: after.sections.filter(({ id }) => !old.has(id)).map(describeAdded),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    renamed: [...renamed].map(([from, to]) => `${from} is now ${to}`),
    widened: [...rights.flatMap(({ widened }) => widened), ...limits.widened],
    narrowed: [...rights.flatMap(({ narrowed }) => narrowed), ...limits.narrowed],
    other: [...both.flatMap(([was, is]) => compareTexts(was, is)), ...comparePipelines(before, after)],
  };
}

const describeAdded = ({ id, mode, writable_by: roles }: Section) =>
  `${id} (${mode}, written by ${roles.length > 0 ? roles.join(", ") : "people"})`;

type Rights = Pick<SchemaChanges, "widened" | "narrowed">;

function compareRights(was: Section, is: Section): Rights {
  const gained = is.writable_by.filter((role) => !was.writable_by.includes(role));
  const lost = was.writable_by.filter((role) => !is.writable_by.includes(role));
  const freed = was.mode === "log" && is.mode === "snapshot";
  const bound = was.mode === "snapshot" && is.mode === "log";
  return {
    widened: [
      ...gained.map((role) => `${role} may now write ${is.id}`),
      ...(freed ? [`${is.id} is no longer append-only`] : []),
    ],
    narrowed: [
      ...lost.map((role) => `${role} may no longer write ${is.id}`),
      ...(bound ? [`${is.id} is now append-only`] : []),
    ],
  };
}

function compareLimits(before: Schema, after: Schema): Rights {
  const limits = [
    { was: before.readCap, is: after.readCap, name: "read_cap" },
    { was: before.maxSteps, is: after.maxSteps, name: "max_steps" },
  ];
  const say = (found: typeof limits) => found.map(({ was, is, name }) => `${name} is ${is}, was ${was}`);
  return { widened: say(limits.filter((l) => l.is > l.was)), narrowed: say(limits.filter((l) => l.is < l.was)) };
}

function compareTexts(was: Section, is: Section): string[] {
  const parts = [
    was.title !== is.title && `the title of ${is.id} is ${is.title}`,
    was.description !== is.description && `the description of ${is.id} changed`,
    was.summary !== is.summary && `the summary of ${is.id} changed`,
  ];
  return parts.filter((part) => part !== false);
}

function comparePipelines({ pipeline: was }: Schema, { pipeline: is }: Schema): string[] {
  if (was.join(">") === is.join(">")) return [];
  return [is.length === 0 ? "there is no longer a pipeline" : `the pipeline is ${is.join(" → ")}`];
}

const mostNamed = 3;

/** One line for lists and commits: rights of agents first, because they are what a reader must not miss. */
export function summarize({ added, removed, renamed, widened, narrowed, other }: SchemaChanges): string {
  const named = (verb: string, items: string[]) => {
    const more = items.length - mostNamed;
    return items.length === 0
      ? []
      : [`${verb}${items.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
  };
  const parts = [
    ...named("agents may do more: ", widened),
    ...named("agents may do less: ", narrowed),
    ...named("renamed: ", renamed),
    ...named("added: ", added),
    ...named("removed: ", removed),
    ...named("", other),
  ];
  return parts.length === 0 ? "only comments, order or layout" : parts.join("; ");
}
