import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Script, scriptedRunner } from "../agents/scripted.ts";
import type { CrewPart } from "../kernel/caller.ts";
import { ok } from "../kernel/result.ts";
import type { Statement } from "../store/crew-tables.ts";
import type { CrewAgents } from "./record/run-host.ts";
import type { PlanTask } from "./rules/plan.ts";

/** A change to a small program. */
export const demoRequest = "Add a farewell function to the greeter, with a test and a page for users.";

const demoFiles: Record<string, string> = {
  "package.json": `${JSON.stringify({ name: "greeter", version: "1.0.0", type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
  "src/greet.js": `/** Returns a greeting. */\nexport const greet = (name) => \`Hello, \${name}.\`;\n`,
  "test/greet.test.js": `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { greet } from "../src/greet.js";\n\ntest("greets by name", () => assert.equal(greet("Ada"), "Hello, Ada."));\n`,
  "README.md": "# Greeter\n\nGreets people by name.\n",
};

export async function writeDemoProject(root: string): Promise<string[]> {
  for (const [path, text] of Object.entries(demoFiles)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return Object.keys(demoFiles);
}

const task = (number: string, title: string, more: Partial<PlanTask>): PlanTask => ({
  number,
  title,
  requirements: title,
  worker_role: "A JavaScript engineer who writes small modules",
  qc_role: "A critical reviewer who accepts only what was run or read",
  verification: [],
  execution: ["read_file the existing code", "write_file the change", "run_command to test it"],
  max_retries: 2,
  estimated_tool_calls: 8,
  depends_on: ["0"],
  files: [],
  deliverable: "files",
  notes: "",
  ...more,
});

const demoTasks: PlanTask[] = [
  task("0", "Check that the project runs", {
    requirements: "Check that Node is installed and that the existing tests pass. Report the versions and results.",
    worker_role: "An engineer who checks the environment first",
    deliverable: "text",
    depends_on: [],
    verification: [
      { criterion: "The existing tests pass", check: { run: ["node", "--test"], exits: 0 } },
      { criterion: "The output names the Node version" },
    ],
  }),
  task("1.1", "Add farewell", {
    requirements: "Add src/farewell.js, which exports farewell(name) and returns `Goodbye, NAME.`",
    files: ["src/greet.js", "src/farewell.js"],
    verification: [
      {
        criterion: "The module exports farewell",
        check: { file: "src/farewell.js", contains: "export const farewell" },
      },
      { criterion: "The module can be loaded", check: { run: ["node", "--check", "src/farewell.js"], exits: 0 } },
    ],
  }),
  task("1.2", "Test farewell", {
    requirements: "Add test/farewell.test.js with node:test; it must fail if the returned text is wrong.",
    files: ["src/farewell.js", "test/farewell.test.js"],
    depends_on: ["1.1"],
    verification: [{ criterion: "All tests pass", check: { run: ["node", "--test"], exits: 0, prints: "pass 2" } }],
  }),
  task("1.3", "Document farewell", {
    requirements: "Write docs/farewell.md: what farewell does, with an example that a reader can run.",
    worker_role: "A technical writer who explains by example",
    qc_role: "A reader who does not know this program",
    files: ["src/farewell.js", "docs/farewell.md"],
    depends_on: ["1.1"],
    verification: [
      { criterion: "The page exists", check: { file: "docs/farewell.md", exists: true } },
      { criterion: "The page has an example that a reader can run" },
    ],
  }),
  task("1.4", "Write the release note", {
    requirements: "Write a release note of two sentences: what is new, and where it is documented.",
    worker_role: "A technical writer who explains by example",
    deliverable: "text",
    depends_on: ["1.2", "1.3"],
    verification: [{ criterion: "The note names farewell and its page" }],
  }),
];

const demoPlan = {
  title: "Add farewell to the greeter",
  summary: "First the module, then its test and its page in parallel, then the release note.",
  assumptions: ["farewell returns `Goodbye, NAME.`, in the style of greet"],
  tasks: demoTasks,
};

type Use = (name: string, input: Record<string, unknown>) => Promise<Record<string, unknown>>;
type Work = (use: Use) => Promise<void>;

const call = (id: string) => ({ from: "call" as const, ref: id, lines: "" });

const done = (use: Use, output: string, statements: Statement[] = [], decisions: string[] = []) =>
  use("submit_output", { output, statements, decisions });

const workers: Record<string, Work> = {
  async "0"(use) {
    const version = await use("run_command", { run: ["node", "--version"] });
    const tests = await use("run_command", { run: ["node", "--test"] });
    const found = String(version.output).trim();
    await done(use, `Node ${found} is installed, and the existing tests pass.`, [
      { statement: "Node is installed", evidence: found, ...call(String(version.call)) },
      { statement: "the tests pass", evidence: "pass 1", ...call(String(tests.call)) },
    ]);
  },
  async "1.1"(use) {
    await use("read_file", { path: "src/greet.js" });
    const text = `/** Returns a farewell. */\nexport const farewell = (name) => \`Goodbye, \${name}.\`;\n`;
    await use("write_file", { path: "src/farewell.js", content: text });
    const ran = await use("run_command", {
      run: [
        "node",
        "--input-type=module",
        "-e",
        "import { farewell } from './src/farewell.js'; console.log(farewell('Ada'))",
      ],
    });
    const statements = [
      { statement: "farewell returns the name", evidence: "Goodbye, Ada.", ...call(String(ran.call)) },
    ];
    const decision = "farewell has its own module, so that greet does not change for its users";
    await done(use, "farewell(name) returns `Goodbye, NAME.`", statements, [decision]);
  },
  async "1.2"(use) {
    const text = `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { farewell } from "../src/farewell.js";\n\ntest("says farewell by name", () => assert.equal(farewell("Ada"), "Goodbye, Ada."));\n`;
    await use("write_file", { path: "test/farewell.test.js", content: text });
    const ran = await use("run_command", { run: ["node", "--test"] });
    await done(use, "Added a test of farewell; both tests pass.", [
      { statement: "both tests pass", evidence: "pass 2", ...call(String(ran.call)) },
    ]);
  },
  async "1.3"(use) {
    // A retry starts from the files of the attempt before.
    const { files } = await use("list_files", { under: "docs" });
    const again = (files as string[]).includes("docs/farewell.md");
    const example =
      '\n## Example\n\n```js\nimport { farewell } from "./src/farewell.js";\n\nconsole.log(farewell("Ada")); // Goodbye, Ada.\n```\n';
    const text = `# farewell\n\n\`farewell(name)\` returns a sentence that says goodbye to \`name\`.\n${again ? example : ""}`;
    await use("write_file", { path: "docs/farewell.md", content: text });
    await done(use, again ? "Added an example to the page." : "Wrote a page about farewell.");
  },
  async "1.4"(use) {
    await use("read_file", { path: "docs/farewell.md" });
    await done(use, "farewell(name) returns a farewell by name. See docs/farewell.md for an example.");
  },
};

type Judge = (use: Use) => Promise<Record<string, unknown>>;

const pass = (score: number, feedback: string, evidence: object[]) => ({ verdict: "PASS", score, feedback, evidence });
const seen = (criterion: number, quote: string, from: "check" | "file" | "output", ref = "", met = true) => ({
  ...{ criterion, met, quote, from, ref },
});

const verifiers: Record<string, Judge> = {
  async "0"(use) {
    const version = await use("run_command", { run: ["node", "--version"] });
    return pass(95, "All checks passed, and the output names the version.", [
      seen(1, "node --test: exit code 0", "check"),
      seen(2, `Node ${String(version.output).trim()} is installed`, "output"),
    ]);
  },
  async "1.1"(use) {
    const file = await use("read_file", { path: "src/farewell.js" });
    return pass(94, "The module is small and meets the requirements.", [
      seen(1, "export const farewell", "check"),
      seen(2, String(file.content).split("\n")[1] ?? "", "file", "src/farewell.js"),
    ]);
  },
  "1.2": async () => pass(90, "The tests pass and would fail on a wrong text.", [seen(1, "pass 2", "check")]),
  async "1.3"(use) {
    const { content: text = "" } = await use("read_file", { path: "docs/farewell.md" });
    if (!String(text).includes("```")) {
      return {
        verdict: "FAIL",
        score: 55,
        feedback: "The page says what farewell does, but has no example.",
        issues: ["no example that a reader can run"],
        required_fixes: ["add an example with the import and its output"],
        evidence: [
          seen(1, "docs/farewell.md", "check"),
          seen(2, String(text).trim(), "file", "docs/farewell.md", false),
        ],
      };
    }
    return pass(92, "The page is short, and its example runs as written.", [
      seen(1, "docs/farewell.md", "check"),
      seen(2, 'console.log(farewell("Ada"))', "file", "docs/farewell.md"),
    ]);
  },
  "1.4": async () =>
    pass(91, "The note says what is new and where it is documented.", [
      seen(1, "See docs/farewell.md for an example", "output"),
    ]),
};

/** The crew of the demo: its agents follow a script and call no model; everything around them is real. */
export function demoAgents(paceMs: number): CrewAgents {
  const parts: Partial<Record<CrewPart, Script>> = {
    async pm(spec, signal) {
      const use = using(spec, paceMs, signal);
      const { tasks, ...head } = demoPlan;
      await use("add_plan_tasks", { tasks });
      await use("finish_plan", head);
      return undefined;
    },
    async worker(spec, signal) {
      const number = /^# Task ([\d.]+)/m.exec(spec.prompt)?.[1] ?? "";
      await workers[number]?.(using(spec, paceMs, signal));
      return undefined;
    },
    async qc(spec, signal) {
      const use = using(spec, paceMs, signal);
      const number = /^# Verify task ([\d.]+)/m.exec(spec.prompt)?.[1] ?? "";
      const said = await verifiers[number]?.(use);
      if (said) await use("submit_verdict", said);
      return undefined;
    },
  };
  return (part) => {
    const runner = scriptedRunner(parts[part] ?? (async () => undefined));
    return ok({ runner, model: undefined, role: roles[part] ?? "engineer", env: {} });
  };
}

const roles: Partial<Record<CrewPart, string>> = { pm: "planner", qc: "architect" };

/** A stopped agent makes no further call: its database may be closed by then. */
function using(spec: Parameters<Script>[0], paceMs: number, signal: AbortSignal): Use {
  return async (name, input) => {
    await sleep(paceMs, undefined, { signal });
    const result = await spec.tools?.call(name, input);
    if (!result?.ok) throw new Error(`the demo's ${name} was refused: ${result?.problem.message ?? "no tools"}`);
    return result.value as Record<string, unknown>;
  };
}
