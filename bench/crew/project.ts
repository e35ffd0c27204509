import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PlanTask } from "../../src/crew/rules/plan.ts";
import { proseWriter } from "../support/text.ts";

export type Size = { name: string; tasks: number; files: number };

export const sizes: Size[] = [
  { name: "small", tasks: 5, files: 10 },
  { name: "medium", tasks: 20, files: 50 },
  { name: "large", tasks: 100, files: 200 },
];

const functionsPerFile = 24;

export const moduleOf = (n: number) => `src/module-${n}.js`;
/** What task n must make the module return. */
export const rightOf = (n: number) => `answer ${n * 7 + 3}`;

/** The command that tells whether task n is done. */
export const checkOf = (n: number) => {
  const script = `import { answer } from "./${moduleOf(n)}"; process.exit(answer() === ${JSON.stringify(rightOf(n))} ? 0 : 1)`;
  return ["node", "--input-type=module", "-e", script];
};

/** Modules of some 150 lines, as a program has them: functions with a comment each, and one that a task will change. */
export function projectFiles({ files }: Size): Map<string, string> {
  const prose = proseWriter(11);
  const made = new Map<string, string>([["package.json", `${JSON.stringify({ name: "bench", type: "module" })}\n`]]);
  for (let n = 1; n <= files; n++) {
    const functions = Array.from(
      { length: functionsPerFile },
      (_, i) =>
        `/** ${prose(90)} */\nexport function step${n}_${i}(value) {\n  const next = value * ${i + 2} + ${n};\n  return next % 2 === 0 ? next : next + ${i};\n}\n`,
    );
    made.set(moduleOf(n), `${functions.join("\n")}\nexport const answer = () => "not yet";\n`);
  }
  return made;
}

export function writeProject(root: string, files: Map<string, string>): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** Every task changes one module, and a program tells whether it did. A fifth of them waits for another. */
export function planFor({ tasks }: Size): PlanTask[] {
  const plain = {
    worker_role: "A JavaScript engineer who changes as little as possible",
    qc_role: "A critical reviewer who believes what was run",
    max_retries: 2,
    estimated_tool_calls: 6,
  };
  const first: PlanTask = {
    ...plain,
    number: "0",
    title: "See that Node is there",
    requirements: "Run node --version and say what it printed.",
    verification: [{ criterion: "Node runs", check: { run: ["node", "--version"], exits: 0 } }],
    execution: ["run_command node --version"],
    depends_on: [],
    files: [],
    deliverable: "text",
    notes: "",
  };
  const rest = Array.from({ length: tasks - 1 }, (_, i): PlanTask => {
    const n = i + 1;
    return {
      ...plain,
      number: `1.${n}`,
      title: `Answer in module ${n}`,
      requirements: `Change answer() in ${moduleOf(n)} so that it returns exactly the text: ${rightOf(n)}. Leave everything else as it is.`,
      verification: [
        {
          criterion: "answer() returns the text that was asked for",
          check: { run: checkOf(n), exits: 0 },
        },
      ],
      execution: ["read_file the module", "edit_file the last line", "submit_output"],
      depends_on: n % 5 === 0 ? [`1.${n - 1}`] : ["0"],
      files: [moduleOf(n)],
      deliverable: "files",
      notes:
        "Other shapes were looked at: one table for all modules, or a generator. Both touch more files than needed.",
    };
  });
  return [first, ...rest];
}
