import { list, suggest } from "../kernel/nearest.ts";
import type { NextStep } from "../kernel/next-step.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { findSection, type Schema, type Section } from "./schema.ts";

/** The rules of the wiki as pure functions; knowledge.ts applies them. */

export type Write = "commit" | "append";

/** May this role write this section in this way (K2, K6)? People (no role) may write every section. */
export function mayWrite(schema: Schema, role: string | undefined, id: string, write: Write): Result<Section> {
  const section = findSection(schema, id);
  if (!section) return unknownSection(schema, id);

  if (role !== undefined && !section.writable_by.includes(role)) {
    const allowed = schema.sections.filter((s) => s.writable_by.includes(role));
    const writers = section.writable_by.length > 0 ? list(section.writable_by) : "people";
    const may = allowed.length > 0 ? `${role} may write ${list(allowed.map(spell))}` : `${role} may write no section`;
    return refuse("denied", `${role} may not write ${id}, only ${writers} may; ${may}`, {
      role,
      section: id,
      may_write: allowed.slice(0, mostNamed).map((s) => ({ id: s.id, mode: s.mode })),
    });
  }
  if (section.mode === "log" && write === "commit") {
    return refuse("denied", `${id} is a log: lines can be appended but not changed`, {
      role,
      section: id,
      mode: section.mode,
      next: [{ operation: "append_log", input: { id }, to: "add a line" }],
    });
  }
  if (section.mode === "snapshot" && write === "append") {
    return refuse("denied", `${id} is a snapshot, not a log: a commit replaces its whole body`, {
      role,
      section: id,
      mode: section.mode,
      next: [{ operation: "commit_entry", input: { id }, to: "replace the body" }],
    });
  }
  return ok(section);
}

/** A role outside the pipeline never hands over, so `list_entries` begins its next turn. */
export const handsOver = (schema: Schema, role: string) => schema.pipeline.includes(role);

/** Limits the number of entries that one turn may read (K9). Reading one again does not count. */
export function mayRead(schema: Schema, role: string, reads: ReadonlySet<string>, id: string): Result<true> {
  if (reads.has(id) || reads.size < schema.readCap) return ok(true);
  const next: NextStep[] = [
    { operation: "search", to: "find a passage without reading the entry" },
    handsOver(schema, role)
      ? { operation: "transfer_focus", to: "end the turn" }
      : { operation: "list_entries", to: "start a new turn" },
  ];
  return refuse(
    "refused",
    `read cap reached: this turn has read ${reads.size} of ${schema.readCap} entries (${[...reads].join(", ")})`,
    { read_cap: schema.readCap, read: [...reads], next },
  );
}

const mostNamed = 20;
const longestText = 1_000_000;

/** Accepts text that every backend stores without change. */
export function checkText(content: string): Result<true> {
  if (content.includes("\0")) return refuse("invalid", "the content contains a NUL character; send text");
  if (content.length > longestText) {
    return refuse(
      "invalid",
      `the content has ${content.length} characters; the maximum is ${longestText}. Split it into several sections`,
    );
  }
  const marker = content.split("\n").findIndex((line) => /^(<{7}|>{7}|={7})( |$)/.test(line));
  const conflicted = marker >= 0 && /^<{7}( |$)/m.test(content) && /^>{7}( |$)/m.test(content);
  if (conflicted)
    return refuse("invalid", `line ${marker + 1} is a merge conflict marker; resolve the conflict, then commit`);
  return ok(true);
}

export type Handoff = {
  to: string | null;
  forced: boolean;
  ended: "pipeline complete" | "max_steps reached" | undefined;
};

/** The receiver of a handoff (K8): the next role of the pipeline, whatever role was requested. The last step ends the run. */
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
    return refuse("denied", `${from} is not in the pipeline (${pipeline.join(" → ")}), so it cannot hand off`);
  if (there < 0) return refuse("invalid", `role ${target} is not in the pipeline; ${suggest(target, pipeline)}`);

  const forced = there <= here;
  const to = forced ? (pipeline[here + 1] ?? null) : target;
  if (step >= maxSteps && to !== null) return ok({ to: null, forced, ended: "max_steps reached" });
  return ok({ to, forced, ended: to === null ? "pipeline complete" : undefined });
}

function unknownSection(schema: Schema, id: string): Result<never> {
  const ids = schema.sections.map((s) => s.id);
  return refuse("not_found", `section ${id} does not exist; ${suggest(id, ids)}`);
}

export const requireSection = (schema: Schema, id: string): Result<Section> => {
  const section = findSection(schema, id);
  return section ? ok(section) : unknownSection(schema, id);
};

const spell = (section: Section) => `${section.id} (${section.mode})`;
