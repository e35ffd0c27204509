import { isNode, isSeq, type Node, parseDocument, type YAMLSeq, Document as YamlDocument } from "yaml";
import * as z from "zod";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { type Complaint, complain, offsetOf, readYaml } from "../kernel/yaml.ts";

const maxBytes = 16 * 1024 * 1024;

export const sectionId = z
  .string()
  .max(200)
  .regex(
    /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*){0,7}$/,
    "expected lower-case letters, digits, - and _, with / between levels, such as vision or api/errors",
  );

export const roleName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z][\w.-]*$/, "expected a role name: a letter, then letters, digits, - _ or .");

const oneLine = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .regex(/^[^\n\r]*$/, "expected a single line");

export const section = z.strictObject({
  id: sectionId.describe("The id of the entry and its file: vision is vision.md, api/errors is api/errors.md"),
  title: oneLine.max(200).describe("The name that people and agents see"),
  mode: z
    .enum(["snapshot", "log"], { error: "expected snapshot or log" })
    .describe("snapshot: each commit replaces the body. log: append-only"),
  writable_by: z.array(roleName).describe("Roles that may write it; people may always write"),
  description: z.string().trim().min(1).max(2000).describe("What belongs here and what does not; agents read it"),
  summary: oneLine.max(300).optional().describe("One line for the catalogue"),
});
export type Section = z.infer<typeof section>;

export const schemaFile = z.strictObject({
  schema: z.strictObject({
    sections: z.array(section).min(1, "expected at least one section"),
  }),
  pipeline: z.array(roleName).describe("Roles in the order of their turns; [] for no handoffs"),
  max_steps: z.int().min(1).max(100_000).default(12).describe("Maximum number of handoffs in a run"),
  read_cap: z
    .int()
    .min(1)
    .max(1000)
    .default(4)
    .describe("Maximum number of different entries a role fetches in one turn"),
});

export type Schema = {
  sections: Section[];
  pipeline: string[];
  maxSteps: number;
  readCap: number;
};

export function parseSchema(text: string, file: string): Result<Schema> {
  if (lastLarge?.text === text && lastLarge.file === file) return lastLarge.parsed;
  const parsed = parse(text, file);
  if (text.length > large) lastLarge = { text, file, parsed };
  return parsed;
}

/** Parsing thousands of sections takes seconds, and `init` needs them to plan and again to index. */
const large = 64 * 1024;
let lastLarge: { text: string; file: string; parsed: Result<Schema> } | undefined;

function parse(text: string, file: string): Result<Schema> {
  const read = readYaml(text, schemaFile, { file, maxBytes });
  if (!read.ok) return read;
  const { value, document } = read.value;

  const twins = repeated(value.schema.sections.map((s) => s.id)).map((index) =>
    place(text, document, file, ["schema", "sections", index, "id"], "this id is already used above"),
  );
  const loops = repeated(value.pipeline).map((index) =>
    place(text, document, file, ["pipeline", index], `${value.pipeline[index]} is already in the pipeline above`),
  );
  if (twins.length + loops.length > 0) return complain([...twins, ...loops]);
  return ok({
    sections: value.schema.sections,
    pipeline: value.pipeline,
    maxSteps: value.max_steps,
    readCap: value.read_cap,
  });
}

const indexes = new WeakMap<readonly Section[], Map<string, Section>>();

/** Indexed once for each schema: work on 10,000 entries that looks for one of 10,000 sections each time takes minutes. */
export function sectionWith(sections: readonly Section[], id: string): Section | undefined {
  const index = indexes.get(sections) ?? new Map(sections.map((section) => [section.id, section]));
  indexes.set(sections, index);
  return index.get(id);
}

export const findSection = (schema: Schema, id: string) => sectionWith(schema.sections, id);

/** All roles of the schema, those of the pipeline first. */
export const rolesOf = (schema: Schema) => [
  ...new Set([...schema.pipeline, ...schema.sections.flatMap((s) => s.writable_by)]),
];

/** Adds a section to the text of schema.yaml and keeps comments, order and style of the rest. */
export function addSection(text: string, added: Section, file: string): Result<string> {
  const before = parseSchema(text, file);
  if (!before.ok) return before;
  if (findSection(before.value, added.id)) return refuse("conflict", `section ${added.id} already exists`);

  const document = parseDocument(text);
  const list = document.getIn(["schema", "sections"]);
  const last = isSeq(list) ? list.items.at(-1) : undefined;
  if (!isSeq(list) || !isNode(last)) return refuse("invalid", `${file}: schema.sections is not a list`);
  const after = list.flow ? withFlowItem(document, list, added) : withBlockItem(text, list, last, added);
  const checked = parseSchema(after, file);
  return checked.ok ? ok(after) : checked;
}

type SectionRename = { from: string; to: string; title?: string | undefined };

/** Changes the id of a section, and its title if one is given; no other byte of the text changes. */
export function renameSectionIn(text: string, { from, to, title }: SectionRename, file: string): Result<string> {
  const before = parseSchema(text, file);
  if (!before.ok) return before;
  const index = before.value.sections.findIndex(({ id }) => id === from);
  const document = parseDocument(text);
  const at = (field: string) => document.getIn(["schema", "sections", index, field], true);
  const edits = [
    { node: at("id"), value: to },
    ...(title === undefined ? [] : [{ node: at("title"), value: JSON.stringify(title) }]),
  ].flatMap(({ node, value }) =>
    isNode(node) && node.range ? [{ start: node.range[0], end: node.range[1], value }] : [],
  );
  if (index < 0 || edits.length < (title === undefined ? 1 : 2))
    return refuse("invalid", `${file}: section ${from} is written in a way that cannot be edited; rename it by hand`);
  let after = text;
  for (const { start, end, value } of edits.toSorted((a, b) => b.start - a.start))
    after = after.slice(0, start) + value + after.slice(end);
  const checked = parseSchema(after, file);
  if (!checked.ok) return checked;
  return findSection(checked.value, to)
    ? ok(after)
    : refuse("invalid", `${file}: section ${from} could not be renamed`);
}

/** Inserts the section after the last one, with the same indentation; no other byte changes. */
function withBlockItem(text: string, list: YAMLSeq, last: Node, added: Section): string {
  const first = list.range?.[0] ?? 0;
  const indent = " ".repeat(first - (text.lastIndexOf("\n", first - 1) + 1));
  const document = new YamlDocument([added]);
  document.setIn([0, "writable_by"], Object.assign(document.createNode(added.writable_by), { flow: true }));
  const item = document.toString({ lineWidth: 0 }).replace(/^(?=.)/gm, indent);
  const end = text.indexOf("\n", (last.range?.[1] ?? text.length) - 1);
  return end < 0 ? `${text}\n${item}` : `${text.slice(0, end + 1)}${item}${text.slice(end + 1)}`;
}

function withFlowItem(document: YamlDocument, list: YAMLSeq, added: Section): string {
  list.add(document.createNode(added));
  return document.toString({ lineWidth: 0 });
}

function repeated(values: string[]): number[] {
  const seen = new Set<string>();
  return values.flatMap((value, index) => {
    if (seen.has(value)) return [index];
    seen.add(value);
    return [];
  });
}

function place(
  text: string,
  document: YamlDocument,
  file: string,
  path: (string | number)[],
  message: string,
): Complaint {
  const before = text.slice(0, offsetOf(document, path)).split("\n");
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message };
}
