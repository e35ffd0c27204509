import { ok, type Result, refuse } from "../kernel/result.ts";
import { findSection, type Schema, type Section } from "./schema.ts";

/** The rules of the knowledge base as pure functions; knowledge.ts applies them. */

export type Write = "commit" | "append";

/** May this role write this section in this way (K2, K6)? People (no role) may write every section. */
export function mayWrite(schema: Schema, role: string | undefined, id: string, write: Write): Result<Section> {
  const section = findSection(schema, id);
  if (!section) return unknownSection(schema, id);

  if (role !== undefined && !section.writable_by.includes(role)) {
    const allowed = schema.sections.filter((s) => s.writable_by.includes(role));
    const may = allowed.length > 0 ? `may write ${few(allowed.map(spell))}` : "may write no section";
    return refuse(
      "denied",
      `the role ${role} may not write ${id}, which is written by ${section.writable_by.join(", ") || "people only"}; ${role} ${may}`,
      { role, section: id, may_write: allowed.slice(0, mostNamed).map((s) => ({ id: s.id, mode: s.mode })) },
    );
  }
  if (section.mode === "log" && write === "commit") {
    return refuse(
      "denied",
      `${id} is a log and only grows: use append_log with one line; no tool rewrites an earlier one`,
      {
        role,
        section: id,
        mode: section.mode,
      },
    );
  }
  if (section.mode === "snapshot" && write === "append") {
    return refuse(
      "denied",
      `${id} is a snapshot, not a log: use commit_entry with the whole new body and the version you read`,
      {
        role,
        section: id,
        mode: section.mode,
      },
    );
  }
  return ok(section);
}

/** A role outside the pipeline never hands over, so `list_entries` begins its next turn. */
export const handsOver = (schema: Schema, role: string) => schema.pipeline.includes(role);

/** Limits the number of entries that one turn may read (K9). Reading one again does not count. */
export function mayRead(schema: Schema, role: string, reads: ReadonlySet<string>, id: string): Result<true> {
  if (reads.has(id) || reads.size < schema.readCap) return ok(true);
  const next = handsOver(schema, role)
    ? "or end the turn with transfer_focus; the next turn starts with list_entries"
    : "or call list_entries to begin the next turn";
  return refuse(
    "refused",
    `this turn has read ${reads.size} entries (${[...reads].join(", ")}) and the cap is ${schema.readCap}: ` +
      `work with those, search for a passage, ${next}`,
    { read_cap: schema.readCap, read: [...reads] },
  );
}

const mostNamed = 20;
const longestText = 1_000_000;

/** Accepts text that every backend stores without change. */
export function checkText(content: string): Result<true> {
  if (content.includes("\0")) return refuse("invalid", "the content has a NUL character; send text");
  if (content.length > longestText) {
    return refuse(
      "invalid",
      `the content has ${content.length} characters; an entry takes at most ${longestText}: split it into sections`,
    );
  }
  const marker = content.split("\n").findIndex((line) => /^(<{7}|>{7}|={7})( |$)/.test(line));
  const conflicted = marker >= 0 && /^<{7}( |$)/m.test(content) && /^>{7}( |$)/m.test(content);
  if (conflicted)
    return refuse("invalid", `line ${marker + 1} is a merge conflict marker; resolve it before you commit`);
  return ok(true);
}

export type Handoff = {
  to: string | null;
  forced: boolean;
  ended: "pipeline complete" | "max_steps reached" | undefined;
};

/** The receiver of a handoff (K8): the next role of the pipeline, whatever role was requested. */
export function nextFocus(schema: Schema, from: string, target: string, step: number): Result<Handoff> {
  const { pipeline, maxSteps } = schema;
  if (pipeline.length === 0) {
    return refuse(
      "denied",
      "this wiki has no pipeline, so there is no role to hand over to; write what the next session needs into an entry",
    );
  }
  const here = pipeline.indexOf(from);
  const there = pipeline.indexOf(target);
  if (here < 0)
    return refuse("denied", `the role ${from} is not in the pipeline (${pipeline.join(" → ")}) and hands nothing over`);
  if (there < 0) return refuse("invalid", `there is no role ${target} in the pipeline (${pipeline.join(" → ")})`);

  const forced = there <= here;
  const to = forced ? (pipeline[here + 1] ?? null) : target;
  if (step > maxSteps) return ok({ to: null, forced, ended: "max_steps reached" });
  return ok({ to, forced, ended: to === null ? "pipeline complete" : undefined });
}

function unknownSection(schema: Schema, id: string): Result<never> {
  const ids = schema.sections.map((s) => s.id);
  const near = ids.filter(
    (known) => known.endsWith(`/${id}`) || known.startsWith(`${id}/`) || id.endsWith(`/${known}`),
  );
  const hint = near.length > 0 ? near : ids;
  return refuse(
    "not_found",
    `there is no section ${id}; ${near.length > 0 ? "do you mean" : "there are"} ${few(hint)}`,
  );
}

export const requireSection = (schema: Schema, id: string): Result<Section> => {
  const section = findSection(schema, id);
  return section ? ok(section) : unknownSection(schema, id);
};

/** The first few names: a message must stay short however many sections there are. */
const few = (names: string[]) =>
  names.slice(0, mostNamed).join(", ") + (names.length > mostNamed ? ` and ${names.length - mostNamed} more` : "");

const spell = (section: Section) => `${section.id} (${section.mode})`;
