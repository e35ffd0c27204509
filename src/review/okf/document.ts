import { stringify } from "yaml";
import * as z from "zod";
import { findFrontmatter } from "../../kernel/markdown/frontmatter.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { readYaml } from "../../kernel/yaml.ts";

/**
 * Concepts of the Open Knowledge Format 0.2: markdown with YAML frontmatter. The fields about provenance, trust and
 * lifecycle are claims of whoever wrote them. Scriptorium writes its own at export, from its record, and keeps those that
 * it reads under `imported`, with who imported them. All other fields stay as they are.
 * https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md
 */
export type Fields = Record<string, unknown>;
type Concept = { fields: Fields; body: string };

export const okfVersion = "0.2";
/** Fields that say whether a concept can be relied on. */
const trustFields = ["generated", "verified", "status", "stale_after", "sources", "usage_window"] as const;
const firstFields = ["type", "title", "description", "resource", "tags"] as const;
/** What an export adds about this workspace, and an import takes out again. */
const ownField = "scriptorium";
export const importedField = "imported";

const frontBytes = 64 * 1024;
const anyFields = z.record(z.string(), z.unknown());

/** Parses a markdown file; one without frontmatter has no fields. */
export function parseConcept(text: string, file: string): Result<Concept> {
  const found = findFrontmatter(text);
  if (!found) {
    const isOpen = /^\ufeff?---\r?\n/.test(text);
    return isOpen
      ? refuse("invalid", `${file}:1:1: the frontmatter has no closing --- line`)
      : ok({ fields: {}, body: text });
  }
  if (found.yaml.trim() === "") return ok({ fields: {}, body: text.slice(found.bodyStart) });
  const read = readYaml(found.yaml, anyFields, { file, maxBytes: frontBytes });
  return read.ok ? ok({ fields: read.value.value, body: text.slice(found.bodyStart) }) : read;
}

export function writeConcept({ fields, body }: Concept): string {
  const ordered = [...firstFields, ...Object.keys(fields)].filter((key, at, all) => all.indexOf(key) === at);
  const known = Object.fromEntries(ordered.flatMap((key) => (fields[key] === undefined ? [] : [[key, fields[key]]])));
  const yaml = stringify(known, { schema: "core", version: "1.2", lineWidth: 0, aliasDuplicateObjects: false });
  return `---\n${yaml}---\n${body === "" ? "" : `\n${body}`}`;
}

/** What the system knows about a page at export. */
export type Known = {
  type: string;
  title: string;
  description?: string | undefined;
  generated?: { by: string; at: string } | undefined;
  /** Only if every passage is verified. */
  verified: { by: string; at: string }[];
  status: "draft" | "stable" | "deprecated";
  staleAfter?: string | undefined;
  sources: Fields[];
  own: Fields;
};

/** The frontmatter of an exported page: its own fields, and those that the system writes. */
export function exportedFields(page: Fields, known: Known): Fields {
  const imported = page[importedField];
  const claimed = isFields(imported) && Array.isArray(imported.sources) ? imported.sources.filter(isFields) : [];
  const isNew = (one: Fields) => !known.sources.some(({ resource }) => resource === one.resource);
  const sources = [...known.sources, ...claimed.filter(isNew)];
  // A page may use such a field for something else, such as the status of a decision.
  const replaced = Object.fromEntries(
    trustFields.flatMap((key) => (page[key] === undefined ? [] : [[key, page[key]]])),
  );
  const { description = known.description } = page;
  return {
    ...page,
    type: isText(page.type) ? page.type : known.type,
    title: isText(page.title) ? page.title : known.title,
    ...(description === undefined ? {} : { description }),
    generated: known.generated,
    verified: known.verified.length > 0 ? known.verified : undefined,
    status: known.status,
    stale_after: known.staleAfter,
    sources: sources.length > 0 ? sources : undefined,
    usage_window: isFields(imported) && claimed.length > 0 ? imported.usage_window : undefined,
    [ownField]: { ...known.own, ...(Object.keys(replaced).length > 0 ? { replaced } : {}) },
  };
}

/** The frontmatter of an imported page: what was claimed about it is kept apart, with who imported it. */
export function importedFields(given: Fields, by: { by: string; at: string; from: string }): Fields {
  const { [importedField]: earlier, [ownField]: own, ...fields } = given;
  const claims: Fields = { ...by };
  for (const key of trustFields) {
    if (fields[key] !== undefined) claims[key] = key === "verified" ? listOf(fields[key]) : fields[key];
    delete fields[key];
  }
  // A concept of version 0.1.
  if (claims.generated === undefined && isText(fields.timestamp)) claims.generated = { at: fields.timestamp };
  const replaced = isFields(own) && isFields(own.replaced) ? own.replaced : {};
  return { ...fields, ...replaced, [importedField]: { ...claims, ...(earlier === undefined ? {} : { earlier }) } };
}

/** A single verification may be written without the dash of a list. */
const listOf = (value: unknown) => (Array.isArray(value) ? value : [value]);

export const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === "object" && !Array.isArray(value);
export const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

/** `human:<id>` decides the trust tier of other tools: no other actor may look like it. */
export const human = (name: string) => `human:${name}`;
export const agentActor = (role: string) => `scriptorium/${role.replace(/^human:/i, "")}`;
export const checkActor = (name: string) => `process:${name}`;

/** Names that a bundle reserves in every folder. */
export const isReserved = (path: string) => /(^|\/)(index|log)\.md$/.test(path);
