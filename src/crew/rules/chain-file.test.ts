import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Result, unwrap } from "../../kernel/result.ts";
import { type Chain, readChain, writeChain } from "./chain-file.ts";
import { type Plan, plan as planSchema } from "./plan.ts";

const bits = [
  "# Plan: x",
  "## Task 0: again",
  "## Request",
  "### Requirements",
  "### Notes",
  "#### deeper",
  "---",
  "```",
  "````",
  "~~~",
  "```ts",
  "> quoted",
  ">",
  "**Bold:**",
  "**QC role**: me",
  "- item",
  "- Worker: someone else",
  "* star",
  "1. one",
  '   - run ["x"]',
  "| a | b |",
  "|---|---|",
  "<!-- note -->",
  "Run: run-2",
  "PASS",
  "score: 100",
  "",
  " ",
  "  two before",
  "after  ",
  "\ttab",
  "\\",
  "`code`",
  '"quotes"',
  '["a", "b"]',
  "exits 0",
  "none",
  "狐 🦊",
  "e\u0301",
  "\u202Ertl",
  "\u2028",
  "\uFEFF",
  "---js",
  "=======",
  "&amp;",
  "$&",
  "__proto__",
];
const fragment = fc.oneof(fc.constantFrom(...bits), fc.string({ unit: "grapheme", maxLength: 20 }));
const hostileText = fc
  .array(fragment, { minLength: 1, maxLength: 8 })
  .map((parts) => parts.join("\n").replaceAll(/[^\P{Cc}\n\t]|\p{Cs}/gu, ""));
const someText = hostileText.filter((text) => text.trim() !== "");
const hostileLine = fc
  .array(fragment, { minLength: 1, maxLength: 4 })
  .map((parts) =>
    parts
      .join(" ")
      .replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, "")
      .slice(0, 180)
      .replaceAll(/\p{Cs}/gu, "")
      .trim(),
  )
  .filter((line) => line !== "");
const path = fc.constantFrom("src/a.ts", "docs/## Task 1.md", "a b/`c`.txt", "狐.md", "- x", '"q".ts', "xy: z");
const check = fc.oneof(
  fc.record({ run: fc.array(hostileText, { minLength: 1, maxLength: 4 }), exits: fc.nat(255) }),
  fc.record({ run: fc.array(hostileText, { minLength: 1, maxLength: 4 }), exits: fc.nat(255), prints: hostileLine }),
  fc.record({ file: path, exists: fc.boolean() }),
  fc.record({ file: path, contains: hostileLine }),
  fc.record({ file: path, lacks: hostileLine }),
);
const some = <T>(one: fc.Arbitrary<T>, min = 0) => fc.array(one, { minLength: min, maxLength: 3 });
const task = (number: string, before: string[]) =>
  fc.record(
    {
      number: fc.constant(number),
      title: hostileLine,
      requirements: someText,
      worker_role: hostileLine,
      qc_role: hostileLine,
      verification: some(fc.record({ criterion: hostileLine, check }, { requiredKeys: ["criterion"] }), 1),
      execution: some(hostileLine, 1),
      estimated_tool_calls: fc.integer({ min: 1, max: 1000 }),
      max_retries: fc.nat(10),
      model: hostileLine
        .map((line) =>
          line
            .slice(0, 90)
            .replaceAll(/\p{Cs}/gu, "")
            .trim(),
        )
        .filter((line) => line !== ""),
      depends_on: fc.subarray(before),
      files: some(path),
      deliverable: fc.constantFrom("files" as const, "text" as const),
      notes: hostileText,
    },
    {
      requiredKeys: [
        "number",
        "title",
        "requirements",
        "worker_role",
        "qc_role",
        "verification",
        "execution",
        "max_retries",
        "depends_on",
        "files",
        "deliverable",
        "notes",
      ],
    },
  );
/** A task that only asks a person. */
const asking = (number: string, before: string[]) =>
  fc.record({
    number: fc.constant(number),
    title: hostileLine,
    requirements: someText,
    worker_role: fc.constant(""),
    qc_role: fc.constant(""),
    verification: fc.constant([]),
    execution: fc.constant([]),
    max_retries: fc.constant(0),
    depends_on: fc.subarray(before),
    files: fc.constant([]),
    deliverable: fc.constant("text" as const),
    gate: fc.constant("person" as const),
    on_reject: fc.constantFrom("fail" as const, "stop" as const),
    notes: hostileText,
  });
const chain: fc.Arbitrary<Chain> = fc.record({
  run: fc.constant("run-1"),
  request: someText,
  plan: fc.record(
    {
      title: hostileLine,
      summary: hostileText,
      assumptions: some(hostileLine),
      cites: some(hostileLine),
      setup: fc.record({ run: some(some(hostileText, 1)), inputs: some(path) }),
      tasks: fc.tuple(
        task("0", []),
        task("1.1", ["0"]),
        fc.oneof(task("1.2", ["0", "1.1"]), asking("1.2", ["0", "1.1"])),
      ),
    },
    { requiredKeys: ["title", "summary", "assumptions", "cites", "tasks"] },
  ) as fc.Arbitrary<Plan>,
});

test("O3: any plan is read back from its file as it was written, whatever its texts hold", () => {
  fc.assert(
    fc.property(chain, (value) => {
      expect(planSchema.parse(value.plan)).toEqual(value.plan);
      expect(unwrap(readChain(writeChain(value)))).toEqual(value);
    }),
    { numRuns: 150 },
  );
});

const sample: Chain = {
  run: "run-1",
  request: "Make it faster",
  plan: planSchema.parse({
    title: "Faster",
    tasks: [
      {
        number: "0",
        title: "Validate the environment",
        requirements: "Node and git are there.",
        worker_role: "A careful operator",
        qc_role: "A sceptic",
        verification: [{ criterion: "Node answers", check: { run: ["node", "--version"] } }],
        execution: ["Run node --version in the shell"],
        deliverable: "text",
      },
      {
        number: "1.1",
        title: "Measure",
        requirements: "Where does the time go?\n\n```sh\n# not a heading\nnpm run bench\n```",
        worker_role: "A performance engineer",
        qc_role: "A statistician",
        verification: [
          { criterion: "There are figures", check: { file: "bench.md", contains: "ms" } },
          { criterion: "Medians" },
        ],
        execution: ["Run the bench", "Write bench.md"],
        estimated_tool_calls: 12,
        files: ["bench.md"],
        depends_on: ["0"],
      },
    ],
  }),
};

test("the file reads like a page: ordinary text stands there as it is, fences included", () => {
  expect(writeChain(sample)).toMatchInlineSnapshot(`
    "# Plan: Faster

    Run: run-1

    <!-- Edit this plan before it runs; \`scriptorium execute\` reports errors with line numbers. A text in which every line starts with > is read literally. -->

    ## Request

    Make it faster

    ## Task 0: Validate the environment

    - Worker: A careful operator
    - QC: A sceptic
    - Deliverable: text
    - Max retries: 2

    ### Requirements

    Node and git are there.

    ### Verification

    1. Node answers
       - run ["node", "--version"]

    ### Execution

    - Run node --version in the shell

    ## Task 1.1: Measure

    - Worker: A performance engineer
    - QC: A statistician
    - Depends on: 0
    - Deliverable: files
    - Estimated tool calls: 12
    - Max retries: 2

    ### Requirements

    Where does the time go?

    \`\`\`sh
    # not a heading
    npm run bench
    \`\`\`

    ### Verification

    1. There are figures
       - file "bench.md" contains "ms"
    2. Medians

    ### Execution

    - Run the bench
    - Write bench.md

    ### Files

    - bench.md
    "
  `);
});

describe("an edited file", () => {
  const edited = (from: string, to: string): Result<Chain> => readChain(writeChain(sample).replace(from, to));

  test("O3: takes what a person changes", () => {
    const value = unwrap(
      edited(
        "- Max retries: 2\n\n### Requirements\n\nWhere does",
        "- Max retries: 5\n- Model: big\n\n### Requirements\n\nWhere on earth does",
      ),
    );
    expect(value.plan.tasks[1]).toMatchObject({
      max_retries: 5,
      model: "big",
      requirements: expect.stringMatching(/^Where on earth/),
    });
    expect(unwrap(readChain(writeChain(sample).replaceAll("\n", "\r\n")))).toEqual(sample);
    expect(unwrap(edited("- Depends on: 0", "* Depends on: none")).plan.tasks[1]?.depends_on).toEqual([]);
  });

  test("W5: takes the setup that a person adds", () => {
    const value = unwrap(
      edited("## Task 0:", '## Setup\n\n- run ["npm", "ci"]\n- input "package-lock.json"\n\n## Task 0:'),
    );
    expect(value.plan.setup).toEqual({ run: [["npm", "ci"]], inputs: ["package-lock.json"] });
  });

  const lineOf = (words: string): number =>
    writeChain(sample)
      .split("\n")
      .findIndex((line) => line.includes(words)) + 1;
  test.each([
    [
      "an unknown heading",
      "### Execution",
      "### Doing",
      lineOf("### Execution"),
      /unknown heading "Doing"; expected Requirements, Verification/,
    ],
    ["a task number that is none", "## Task 1.1:", "## Task one:", lineOf("## Task 1.1"), /number: expected 0, or 1.1/],
    [
      "a dependency on nothing",
      "- Depends on: 0",
      "- Depends on: 1.9",
      lineOf("- Depends on"),
      /task 1.9 does not exist/,
    ],
    [
      "a dependency on oneself",
      "- Depends on: 0",
      "- Depends on: 1.1",
      lineOf("- Depends on"),
      /dependency cycle: 1.1 → 1.1/,
    ],
    [
      "a number in words",
      "- Estimated tool calls: 12",
      "- Estimated tool calls: many",
      lineOf("- Estimated tool"),
      /expected a number, not "many"/,
    ],
    [
      "an unknown field",
      "- Estimated tool calls: 12",
      "- Tool calls: 12",
      lineOf("- Estimated tool"),
      /expected one of "- Worker:"/,
    ],
    [
      "a check that is none",
      'file "bench.md" contains "ms"',
      "look at it",
      lineOf('file "bench.md"'),
      /expected run \["npm", "test"\]/,
    ],
    ["a file outside", "- bench.md", "- ../bench.md", lineOf("- bench.md"), /inside the workspace/],
    ["a fence left open", "npm run bench\n```", "npm run bench", lineOf("```sh"), /is not closed/],
    [
      "a field given twice",
      "- QC: A statistician",
      "- QC: A statistician\n- QC: me",
      lineOf("- QC: A stat") + 1,
      /QC occurs twice/,
    ],
    [
      "a section given twice",
      "### Files",
      "### Execution\n\n- again\n\n### Files",
      lineOf("### Files"),
      /Execution occurs twice/,
    ],
    [
      "no requirements",
      "Where does the time go?\n\n```sh\n# not a heading\nnpm run bench\n```",
      "",
      lineOf("Where does") - 2,
      /a task needs requirements/,
    ],
    [
      "a setup that is not a command",
      "## Task 0:",
      "## Setup\n\n- npm ci\n\n## Task 0:",
      lineOf("## Task 0:") + 2,
      /expected - run \["npm", "ci"\], - input "package-lock.json" or - none/,
    ],
    [
      "an input of the setup outside the workspace",
      "## Task 0:",
      '## Setup\n\n- run ["npm", "ci"]\n- input "../package-lock.json"\n\n## Task 0:',
      lineOf("## Task 0:") + 3,
      /inside the workspace/,
    ],
    [
      "a setup without a command",
      "## Task 0:",
      "## Setup\n\n## Task 0:",
      lineOf("## Task 0:"),
      /at least one command, or - none/,
    ],
    ["no run", "Run: run-1", "", 1, /the run's id is missing/],
  ] as const)("is refused by line: %s", (_what, from, to, line, message) => {
    const refused = edited(from, to);
    expect(refused).toMatchObject({ ok: false, problem: { code: "invalid" } });
    const problems = refused.ok ? [] : refused.problem.details?.problems;
    expect(problems).toContainEqual({ line, message: expect.stringMatching(message) });
  });

  test("that is not a plan is refused with what is missing", () => {
    expect(readChain("hello")).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining("expected # Plan:") },
    });
    expect(readChain("")).toMatchObject({ ok: false });
  });
});

test("a long chain of tasks that wait for each other is named with its way", () => {
  const [zero, one] = sample.plan.tasks;
  const tasks = [
    zero,
    { ...one, number: "1.1", depends_on: ["1.3"] },
    { ...one, number: "1.2", depends_on: ["1.1"] },
    { ...one, number: "1.3", depends_on: ["1.2"] },
  ];
  const read = planSchema.safeParse({ ...sample.plan, tasks });
  expect(read.error?.issues[0]?.message).toBe("dependency cycle: 1.1 → 1.3 → 1.2 → 1.1");
});
