import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { addSection, parseSchema, type Section } from "./schema.ts";

const good = `schema:
  sections:
    - id: vision
      title: Vision
      mode: snapshot
      writable_by: [planner]
      description: Where we are going.
pipeline: [planner, engineer]
max_steps: 12
`;

test("K12: a good schema is read, with a read cap of 4 unless it says otherwise", () => {
  expect(parseSchema(good, "schema.yaml")).toEqual({
    ok: true,
    value: {
      sections: [
        {
          id: "vision",
          title: "Vision",
          mode: "snapshot",
          writable_by: ["planner"],
          description: "Where we are going.",
        },
      ],
      pipeline: ["planner", "engineer"],
      maxSteps: 12,
      readCap: 4,
    },
  });
  expect(parseSchema(`${good}read_cap: 7\n`, "schema.yaml")).toMatchObject({ value: { readCap: 7 } });
});

test.each([
  [
    "an unknown mode",
    good.replace("snapshot", "table"),
    "schema.yaml:5:7: schema.sections[0].mode: expected snapshot or log",
  ],
  [
    "a key too many",
    good.replace("      mode:", "      color: red\n      mode:"),
    "schema.yaml:5:7: schema.sections[0]: unknown key color; expected id, title",
  ],
  [
    "a missing title",
    good.replace("      title: Vision\n", ""),
    "schema.yaml:3:7: schema.sections[0].title: missing; expected text",
  ],
  [
    "a bad id",
    good.replace("id: vision", "id: ../etc"),
    "schema.yaml:3:7: schema.sections[0].id: expected lower-case letters",
  ],
  ["max_steps in words", good.replace("12", "many"), 'schema.yaml:9:1: max_steps: expected a number, not "many"'],
  [
    "no pipeline",
    good.replace("pipeline: [planner, engineer]\n", ""),
    "schema.yaml:1:1: pipeline: missing; expected a list",
  ],
  [
    "a role twice in the pipeline",
    good.replace("engineer]", "planner]"),
    "schema.yaml:8:21: planner is already in the pipeline above",
  ],
  ["a top-level key too many", `${good}extra: 1\n`, "schema.yaml:10:1: "],
  ["tabs for indentation", good.replace("    - id", "\t- id"), "schema.yaml:3:1: "],
  [
    "a key twice",
    good.replace("      mode:", "      title: Again\n      mode:"),
    "schema.yaml:5:7: Map keys must be unique",
  ],
  [
    "an alias",
    good.replace("[planner]", "&a [planner]").replace("[planner, engineer]", "*a"),
    "schema.yaml:8:11: aliases",
  ],
  ["a tag", good.replace("12", "!!js/function 12"), "schema.yaml:9:"],
  ["__proto__", good.replace("max_steps", "__proto__: {}\nmax_steps"), "schema.yaml:9:1: __proto__ is not a key"],
])("K12: %s is rejected with the line, the column and the reason", (_what, text, message) => {
  const read = parseSchema(text, "schema.yaml");
  expect(read.ok).toBe(false);
  if (!read.ok) expect(read.problem.message).toContain(message);
});

test("K12: the same id twice is rejected where it stands the second time", () => {
  const twice = good.replace(
    "pipeline",
    "    - { id: vision, title: V, mode: log, writable_by: [], description: d }\npipeline",
  );
  const read = parseSchema(twice, "schema.yaml");
  if (read.ok) throw new Error("expected a refusal");
  expect(read.problem.message).toBe("schema.yaml:8:9: this id is already used above");
});

test("K12, T20: bombs are refused quickly and are nobody's crash", () => {
  const laughs = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
    .split("")
    .map((k, i) => `${k}: &${k} [${`*${"abcdefgh"[i]},`.repeat(9)}]`)
    .join("\n")}`;
  for (const text of [
    laughs,
    "[".repeat(100_000),
    `${"- ".repeat(2000)}x`,
    "a: ".repeat(500),
    "? ".repeat(5000),
    "\u0000",
    "{".repeat(50_000),
  ]) {
    expect(parseSchema(text, "schema.yaml")).toMatchObject({ ok: false, problem: { code: "invalid" } });
  }
});

const limits: Section = {
  id: "limits",
  title: "Limits",
  mode: "log",
  writable_by: ["engineer"],
  description: "What: we #hit.",
};

test.each([
  ["at the end", good],
  ["before a comment", good.replace("pipeline:", "# who follows whom\npipeline:")],
  ["with wide indentation", good.replace(/^ {4}(?=-)/gm, "          ").replace(/^ {6}(?=\w)/gm, "            ")],
  [
    "without a newline at the end",
    `pipeline: [planner, engineer]\nmax_steps: 1\n${good.split("pipeline")[0]}`.trimEnd(),
  ],
  ["with a comment behind the last line", good.replace("going.\n", "going. # for now\n")],
])("K11: a section is added %s and every other byte stays", (_where, text) => {
  const added = addSection(text, limits, "schema.yaml");
  if (!added.ok) throw new Error(added.problem.message);
  const read = parseSchema(added.value, "schema.yaml");
  expect(read).toMatchObject({ ok: true });
  if (read.ok) expect(read.value.sections.at(-1)).toEqual(limits);
  const kept = added.value.split("\n").filter((line) => text.split("\n").includes(line));
  expect(kept.join("\n").trimEnd()).toBe(text.trimEnd());
});

test("K11: a list in one line takes a section too", () => {
  const flow =
    "schema: { sections: [ { id: a, title: A, mode: log, writable_by: [x], description: d } ] }\npipeline: [x]\nmax_steps: 1\n";
  const added = addSection(flow, { ...limits, writable_by: ["x"] }, "schema.yaml");
  expect(added.ok && parseSchema(added.value, "s")).toMatchObject({
    value: { sections: [{ id: "a" }, { id: "limits" }] },
  });
});

test("K12: the mistakes shown in the docs are reported just so", () => {
  const page = readFileSync(new URL("../../docs/guides/schema.md", import.meta.url), "utf8");
  const [, text, said] =
    /## When the file is wrong[\s\S]*?```yaml\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(page) ?? [];
  const read = parseSchema(text ?? "", "wiki/schema.yaml");
  expect(read.ok ? "no mistake" : `${read.problem.message}\n`).toBe(said);
});
