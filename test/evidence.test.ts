import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { verdictsOf } from "../src/store/queries/verdicts.ts";
import { executed, newRun, type Play, passes, planned, playing, type Use, verdictOf, writes } from "./support/crew.ts";
import { codeLines, codePath, type Ids, lies, look, makeFiles, table, tableLines, tablePath } from "./support/lies.ts";
import { crewAgent, passing, plannedRun, planOf, work } from "./support/plans.ts";
import { newWorkspace, person, type TestWorkspace } from "./support/workspace.ts";

/** Commands run without a sandbox, so that these tests pass where there is none. */
async function workspace(): Promise<TestWorkspace> {
  const made = await newWorkspace({});
  appendFileSync(made.file("scriptorium.yaml"), "crew: {sandbox: none}\n");
  made.git("commit", "-qam", "Run without a sandbox");
  return { ...made, app: await made.open() };
}

const idOf = async (app: TestWorkspace["app"], run: string, number: string) =>
  (await app.runs.tasks(run)).find((row) => row.number === number)?.task_id ?? "";

const checkEvidence = { criterion: 2, met: true, quote: `cat ${tablePath}: exit code 0`, from: "check" };

test("W4: over 200 lies about files, lines, calls, outputs, numbers and absence none passes, and the worker pays for none", async () => {
  const { app, git } = await workspace();
  const run = await newRun(app, [
    planned("0"),
    planned("1.1", {
      requirements: "Import the table with all of its rows.",
      verification: [
        { criterion: "all rows are there" },
        { criterion: "readable", check: { run: ["cat", tablePath], exits: 0 } },
      ],
    }),
  ]);
  const waiting = Array.from({ length: 4 }, (_, seed) => Object.keys(lies).map((kind) => ({ kind, seed }))).flat();
  const all = waiting.length;
  expect(all).toBeGreaterThanOrEqual(200);
  const others: string[] = [];
  const answers: { kind: string; seed: number; answer: Record<string, unknown> }[] = [];
  let rejected = false;
  const lieTo: Play = async ({ use }) => {
    const ids: Ids = { ...(await look(use)), others: [...others] };
    // One to correct, and one that is judged as it stands.
    for (const { kind, seed } of waiting.splice(0, 2)) {
      const cited = await lies[kind]?.(seed, ids, use);
      const evidence = [{ criterion: 1, met: true, ...cited }, checkEvidence];
      answers.push({ kind, seed, answer: await use("submit_verdict", verdictOf(true, { score: 97, evidence })) });
    }
    others.push(ids.read, ids.ran);
  };
  const agents = playing({
    worker: async (scene) => {
      if (scene.number === "0") return writes()(scene);
      await scene.use("write_file", { path: tablePath, content: table });
      await scene.use("write_file", { path: codePath, content: `${codeLines.join("\n")}\n` });
      await scene.use("write_file", { path: "docs/notes.md", content: "How the import works.\n" });
      await scene.use("run_command", { run: makeFiles });
      others.push(String((await scene.use("run_command", { run: ["cat", tablePath] })).call));
      await scene.use("submit_output", { output: "All 30 rows are imported and the tests pass." });
    },
    qc: async (scene) => {
      if (scene.number === "0") return passes(scene);
      if (rejected) return waiting.length > 0 ? lieTo(scene) : finish(scene);
      rejected = true;
      others.push((await look(scene.use)).read);
      await scene.use("submit_verdict", verdictOf(false));
    },
  });
  const finish: Play = async ({ use }) => {
    const evidence = [{ criterion: 1, met: true, quote: tableLines[3], from: "file", ref: tablePath, lines: "4" }];
    await use("submit_verdict", verdictOf(true, { evidence: [...evidence, checkEvidence] }));
  };
  let outcome = await executed(app, run, agents, { workers: 1 });
  while (outcome.state === "stopped" && waiting.length > 0) {
    expect(outcome.reason).toMatch(/^task 1\.1 has no verdict: 3 verifiers failed \(the verifier's evidence is not/);
    outcome = await executed(app, run, agents, { workers: 1 });
  }
  if (outcome.state === "stopped") outcome = await executed(app, run, agents, { workers: 1 });

  const passed = answers.filter(({ answer }) => !(answer.code === "invalid" || answer.void === true));
  expect(passed).toEqual([]);
  expect(answers).toHaveLength(all);
  expect(outcome).toMatchObject({ state: "completed", tasks: { completed: 2 } });
  const task = await idOf(app, run, "1.1");
  expect((await attemptsOf(app.db.read, { task })).map((row) => [row.attempt, row.phase])).toEqual([
    [1, "qc_failed"],
    [2, "qc_passed"],
  ]);
  const held = (await verdictsOf(app.db.read, { task })).filter((verdict) => verdict.voided_at === null);
  expect(held.map((verdict) => verdict.outcome)).toEqual(["FAIL", "PASS"]);
  expect(git("show", `${acceptedBranch(run)}:${tablePath}`)).toBe(table.trimEnd());
}, 600_000);

test("W4: a failed check, a check of other content and a changed deliverable prove nothing", async () => {
  const { app } = await newWorkspace({});
  const check = { run: ["npm", "test"], exits: 0 };
  const tasks = Array.from({ length: 6 }, (_, i) => ({
    number: `1.${i + 1}`,
    verification: [{ criterion: "tests pass", check }],
  }));
  const { run, id } = await plannedRun(app, planOf([{ number: "0" }, ...tasks]));
  const zero = id("0");
  await work(app, zero, "w-0", "environment is fine");
  const first = unwrap(await app.attempts.claimQc(zero, "q-0"));
  const qcZero = crewAgent("qc", run, "q-0", { task: zero, ...first });
  unwrap(await operations.submit_verdict.perform(app, passing(1, "environment is fine"), qcZero));
  unwrap(await app.attempts.accept(zero, "hash of environment is fine", "crew"));
  const outcomes: unknown[] = [];
  for (const [i, { number }] of tasks.entries()) {
    const task = id(number);
    const output = `made ${number} with ${12 + i} tests`;
    await work(app, task, "w-1", output);
    const { epoch, secret, attempt } = unwrap(await app.attempts.claimQc(task, "q-1"));
    const isRed = i % 2 === 0;
    const detail = `npm test: exit code ${isRed ? 1 : 0}\n${12 + i} tests passed`;
    const deliverableHash = isRed ? `hash of ${output}` : "hash of what was there before";
    const result = { criterion: 1, passed: !isRed, detail, deliverableHash, durationMs: 5 };
    unwrap(await app.attempts.recordChecks({ task, epoch, secret }, attempt, [result], "crew"));
    const evidence = [{ criterion: 1, met: true, quote: `${12 + i} tests passed`, from: "check" }];
    const verdict = { verdict: "PASS", score: 99, feedback: "As asked.", evidence };
    const qc = crewAgent("qc", run, "q-1", { task, epoch, secret });
    expect(await operations.submit_verdict.perform(app, verdict, qc)).toMatchObject({ problem: { code: "invalid" } });
    outcomes.push(unwrap(await operations.submit_verdict.perform(app, verdict, qc)));
  }
  expect(outcomes).toHaveLength(6);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ outcome: "FAIL", void: true });
});

test("W4: fifty honest verdicts of every kind of evidence pass at once", async () => {
  const { app } = await workspace();
  const kinds = [
    "file",
    "lines",
    "several lines",
    "read",
    "ran",
    "diff",
    "found",
    "none found",
    "check",
    "text",
  ] as const;
  const numbers = Array.from({ length: 50 }, (_, i) => `1.${i + 1}`);
  const kindOf = (number: string) => kinds[(Number(number.slice(2)) - 1) % kinds.length] ?? "file";
  const lineOf = (number: string) =>
    `task ${number} handled ${1000 + Number(number.slice(2)) * 17} "rows"\tin ${number} s`;
  const run = await newRun(app, [
    planned("0"),
    ...numbers.map((number) =>
      planned(number, {
        deliverable: kindOf(number) === "text" ? "text" : "files",
        verification: [
          {
            criterion: "it is made",
            ...(kindOf(number) === "check" ? { check: { run: ["cat", `out/${number}.txt`], exits: 0 } } : {}),
          },
        ],
      }),
    ),
  ]);
  const answers: Record<string, unknown>[] = [];
  const agents = playing({
    worker: async ({ number, use }) => {
      const content = `first\n${lineOf(number)}\n  last line of ${number}\n`;
      if (number === "0" || kindOf(number) === "text") return void (await use("submit_output", { output: content }));
      await use("write_file", { path: `out/${number}.txt`, content });
      await use("submit_output", { output: `made ${number}` });
    },
    qc: async (scene) => {
      if (scene.number === "0") return passes(scene);
      const { number, use } = scene;
      const path = `out/${number}.txt`;
      const quote = lineOf(number);
      const call = async (name: string, input: Record<string, unknown>) => ({
        quote,
        from: "call",
        ref: String((await use(name, input)).call),
      });
      const cited: Record<(typeof kinds)[number], () => Promise<object> | object> = {
        file: () => ({ quote, from: "file", ref: path }),
        lines: () => ({ quote: quote.replace("\t", " "), from: "file", ref: `./${path}`, lines: "2-3" }),
        "several lines": () => ({ quote: `${quote}\n last line of ${number}`, from: "file", ref: `${path}:2-3` }),
        read: () => call("read_file", { path }),
        ran: () => call("run_command", { run: ["cat", path] }),
        diff: async () => ({ ...(await call("show_diff", { path })), quote: `+${quote}` }),
        found: async () => ({ ...(await call("search_files", { pattern: "handled" })) }),
        "none found": async () => ({
          ...(await call("search_files", { pattern: "TODO later" })),
          quote: "TODO later",
          absent: true,
        }),
        check: () => ({ quote, from: "check" }),
        text: () => ({ quote, from: "output" }),
      };
      const evidence = [{ criterion: 1, met: true, ...(await cited[kindOf(number)]()) }];
      answers.push(await use("submit_verdict", verdictOf(true, { evidence })));
    },
  });
  const outcome = await executed(app, run, agents, { workers: 2 });
  expect(answers.filter((answer) => answer.outcome !== "PASS")).toEqual([]);
  expect(answers).toHaveLength(50);
  expect(outcome).toMatchObject({ state: "completed", tasks: { all: 51, completed: 51 } });
}, 300_000);

test("W4: honest absences of every kind pass at once", async () => {
  const { app, git, file } = await workspace();
  appendFileSync(file("old.ts"), "export const old = 1;\n");
  git("add", "old.ts");
  git("commit", "-qm", "Add old.ts");
  const absent = (quote: string, more: object = {}) => ({ quote, from: "file", absent: true, ...more });
  const cited: Record<string, (use: Use) => Promise<object> | object> = {
    "searched as text": (use) => searched(use, "a.b?.size", { pattern: "a.b?.size", literal: true }),
    "searched with an unescaped pattern": (use) => searched(use, "eval(y)", { pattern: "eval(y)" }),
    "searched with an escaped pattern": (use) => searched(use, "eval(y)", { pattern: "eval\\(y\\)" }),
    "searched among others": (use) => searched(use, "FIXME", { pattern: "FIXME|XXX later", under: "src" }),
    "searched in any case": (use) => searched(use, "FIXME", { pattern: "fixme", ignore_case: true }),
    "text that reads like a pattern": (use) => searched(use, "a|b", { pattern: "a|b", literal: true }),
    "grep that prints nothing": (use) => ran(use, "FIXME", ["grep", "-rn", "FIXME", "src"]),
    "grep in a shell": (use) => ran(use, "FIXME now", ["sh", "-c", "grep -rn 'FIXME now' . | head"]),
    "grep that counts": (use) => ran(use, "FIXME", ["sh", "-c", "grep -c FIXME src/run.js || true"]),
    "grep with an escaped pattern": (use) => ran(use, "eval(y)", ["grep", "-rnE", "eval\\(y\\)", "."]),
    "its own test has the text": async (use) => {
      await use("write_file", { path: "own.test.js", content: "// FIXME\n" });
      return searched(use, "FIXME", { pattern: "FIXME" });
    },
    "a file": () => absent("FIXME", { ref: codePath }),
    "a file and lines": () => absent("FIXME", { ref: `./${codePath}:1-2` }),
    "a folder without a text that others have": () => absent("How the import works", { ref: "src/" }),
    "all files": () => absent("FIXME", { ref: "" }),
    "another case": () => absent("todo_list", { ref: codePath }),
    "words in another order": () => absent("over left", { ref: "" }),
    "words on lines apart": () => absent("eval(x);\nconst size", { ref: codePath }),
    "a binary file": () => absent("the password", { ref: "src/data.bin" }),
    "a large file": () => absent("FIXME", { ref: "src/large.txt" }),
    "a deleted file": () => absent("", { ref: "old.ts" }),
  };
  const kinds = Object.keys(cited);
  const numbers = kinds.map((_, i) => `1.${i + 2}`);
  const run = await newRun(app, [
    planned("0"),
    planned("1.1"),
    ...numbers.map((number) => planned(number, { depends_on: ["1.1"] })),
    planned("1.90", { deliverable: "text" }),
    planned("1.91", { deliverable: "text" }),
  ]);
  const searched = async (use: Use, quote: string, input: Record<string, unknown>) => ({
    ...{ quote, from: "call", absent: true },
    ref: String((await use("search_files", input)).call),
  });
  const ran = async (use: Use, quote: string, command: string[]) => ({
    ...{ quote, from: "call", absent: true },
    ref: String((await use("run_command", { run: command })).call),
  });
  const answers: object[] = [];
  const agents = playing({
    worker: async ({ number, use }) => {
      if (number === "0" || /9[01]$/.test(number)) return void (await use("submit_output", { output: "All is said." }));
      if (number === "1.1") {
        await use("write_file", { path: codePath, content: `${codeLines.join("\n")}\n` });
        await use("write_file", { path: "docs/notes.md", content: "How the import works.\n" });
        await use("run_command", { run: makeFiles });
      } else if (number === numbers.at(-1)) await use("run_command", { run: ["rm", "old.ts"] });
      else await use("write_file", { path: `out/${number}.txt`, content: `${number}\n` });
      await use("submit_output", { output: `made ${number}` });
    },
    qc: async (scene) => {
      const { number, use } = scene;
      const kind = kinds[numbers.indexOf(number)] ?? number;
      const item =
        number === "1.90"
          ? { quote: "nothing is said", from: "output", absent: true }
          : number === "1.91"
            ? await searched(use, "nothing is said", { pattern: "nothing is said" })
            : await cited[kind]?.(use);
      if (!item) return passes(scene);
      const evidence = [{ criterion: 1, met: true, ...item }];
      answers.push({ kind, ...(await use("submit_verdict", verdictOf(true, { evidence }))) });
    },
  });
  const outcome = await executed(app, run, agents, { workers: 2 });
  expect(answers.filter((answer) => !("outcome" in answer) || answer.outcome !== "PASS")).toEqual([]);
  expect(answers).toHaveLength(kinds.length + 2);
  expect(outcome).toMatchObject({ state: "completed" });
}, 300_000);

test("W4: what a text says cannot be cited as absent from it", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1", { deliverable: "text" })]);
  const answers: Record<string, unknown>[] = [];
  const agents = playing({
    worker: async ({ use }) => void (await use("submit_output", { output: "We use eval(x) in two places." })),
    qc: async (scene) => {
      if (scene.number === "0" || answers.length >= 2) return passes(scene);
      const { call } = await scene.use("search_files", { pattern: "eval(x)", literal: true });
      for (const from of ["output", "call"]) {
        const item = {
          criterion: 1,
          met: true,
          absent: true,
          quote: "eval(x)",
          from,
          ref: from === "call" ? call : "",
        };
        answers.push(await scene.use("submit_verdict", verdictOf(true, { evidence: [item] })));
      }
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
  expect(answers).toMatchObject([
    { code: "invalid", refused: expect.stringContaining("the text contains the quote") },
    { outcome: "FAIL", void: true },
  ]);
});

test("W4: a verifier that corrects its evidence passes; what it said first is on record", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1")]);
  const answers: Record<string, unknown>[] = [];
  const agents = playing({
    worker: writes(() => "handled 120 rows\nhandled 7 columns\n"),
    qc: async (scene) => {
      if (scene.number === "0") return passes(scene);
      for (const lines of ["1", "2"]) {
        const seen = { criterion: 1, met: true, quote: "handled 7 columns", from: "file", ref: "out/1.1.txt", lines };
        answers.push(await scene.use("submit_verdict", verdictOf(true, { evidence: [seen] })));
      }
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
  const why = "evidence 1 (criterion 1, file out/1.1.txt:1): the quote is not in lines 1 of out/1.1.txt; line 2 has it";
  expect(answers).toMatchObject([
    { code: "invalid", refused: expect.stringContaining(why) },
    { outcome: "PASS", void: false, objections: [] },
  ]);
  const [attempt] = await attemptsOf(app.db.read, { task: await idOf(app, run, "1.1") });
  expect(attempt?.refused_verdicts).toMatchObject([{ faults: [why] }]);
});

test("W4: a FAIL without evidence is not held against the worker: another verifier is asked", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 0 })]);
  let asked = 0;
  const agents = playing({
    worker: writes(),
    qc: async (scene) => {
      if (scene.number === "0" || ++asked > 1) return passes(scene);
      const missing = [{ criterion: 1, met: false, absent: true, quote: "", from: "file", ref: "out/1.1.txt" }];
      await scene.use("submit_verdict", verdictOf(false, { evidence: [] }));
      await scene.use("submit_verdict", verdictOf(false, { evidence: missing }));
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed", tasks: { completed: 2 } });
  const record = unwrap(await operations.task_record.perform(app, { id: await idOf(app, run, "1.1") }, person()));
  expect(record.attempts).toMatchObject([
    {
      attempt: 1,
      verdicts: [
        { outcome: "FAIL", void_reason: expect.stringContaining("out/1.1.txt exists at the delivered commit") },
        { outcome: "PASS", void_reason: null },
      ],
    },
  ]);
});

test("W4: a task for files that changed none fails without a verifier, whatever its worker says", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 0 })]);
  const asked: string[] = [];
  const agents = playing({
    worker: async ({ number, use }) => void (await use("submit_output", { output: `made ${number}` })),
    qc: async (scene) => {
      // The author of the failure report verifies no task.
      if (scene.number === "") return;
      asked.push(scene.number);
      await passes(scene);
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "failed", tasks: { completed: 1, lost: 1 } });
  expect(asked).toEqual(["0"]);
  const task = await idOf(app, run, "1.1");
  expect(await verdictsOf(app.db.read, { task })).toMatchObject([
    { outcome: "FAIL", issues: ["the deliverable is files, but no file was changed"] },
  ]);
  const told = unwrap(await operations.get_task_context.perform(app, { id: task, kind: "qc" }, person()));
  expect(told.context).toContain("Files changed: none");
});

test("W12: a verifier runs tests of its own in a scratch copy; they are kept with its verdict and reach nobody else", async () => {
  const { app, git } = await workspace();
  const sum = "export const sum = (a, b) => a + b;\n";
  const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 1 })]);
  const told: string[] = [];
  const listed: unknown[] = [];
  let verifiers = 0;
  const test = `import { sum } from "./sum.mjs";\nif (sum(2, 2) !== 4) process.exit(1);\nconsole.log("sum of 2:", sum(2, 2));\n`;
  const agents = playing({
    worker: async (scene) => {
      if (scene.number === "0") return writes()(scene);
      told.push(scene.told);
      listed.push((await scene.use("list_files")).files);
      await scene.use("write_file", { path: "sum.mjs", content: told.length === 1 ? sum.replace("+", "-") : sum });
      await scene.use("submit_output", { output: "sum adds its arguments; all tests pass." });
    },
    qc: async (scene) => {
      if (scene.number === "0") return passes(scene);
      const { use } = scene;
      verifiers += 1;
      listed.push((await use("list_files")).files);
      await use("write_file", { path: "held-back.test.mjs", content: test });
      if (verifiers === 2) return undefined;
      const ran = await use("run_command", { run: ["node", "held-back.test.mjs"] });
      if (ran.exit !== 0) {
        const seen = { criterion: 1, met: false, quote: '"exit":1', from: "call", ref: ran.call };
        return void (await use("submit_verdict", verdictOf(false, { evidence: [seen] })));
      }
      const seen = { criterion: 1, met: true, quote: "sum of 2: 4", from: "call", ref: ran.call };
      await use("submit_verdict", verdictOf(true, { evidence: [seen] }));
      return undefined;
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
  expect(verifiers).toBe(3);
  expect(JSON.stringify([listed, told])).not.toContain("held-back");
  expect(git("ls-tree", "-r", "--name-only", acceptedBranch(run))).not.toContain("held-back");
  expect(git("show", `${acceptedBranch(run)}:sum.mjs`)).toBe(sum.trimEnd());
  const record = unwrap(await operations.task_record.perform(app, { id: await idOf(app, run, "1.1") }, person()));
  for (const { verdicts } of record.attempts)
    expect(verdicts[0]?.scratch).toMatch(/^diff --git a\/held-back\.test\.mjs[\s\S]*\+if \(sum\(2, 2\) !== 4\)/);
});

test("W12: the files of a verifier are on record with its verdict, before its agent has ended", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1")]);
  const kept: (string | null | undefined)[] = [];
  const agents = playing({
    worker: writes(),
    qc: async (scene) => {
      if (scene.number === "0") return passes(scene);
      await scene.use("write_file", { path: "own.test.mjs", content: "process.exit(0);\n" });
      await passes(scene);
      kept.push((await verdictsOf(app.db.read, { task: await idOf(app, run, "1.1") })).at(-1)?.scratch);
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
  expect(kept).toEqual([expect.stringContaining("+process.exit(0);")]);
});

test("W12: a verifier reads the diff in parts, and sees which commands ran and which words nothing supports", async () => {
  const { app } = await workspace();
  const run = await newRun(app, [planned("0"), planned("1.1")]);
  const seen: Record<string, unknown>[] = [];
  let told = "";
  const agents = playing({
    worker: async ({ number, use }) => {
      if (number === "0") return void (await use("submit_output", { output: "made 0" }));
      await use("write_file", { path: "out/a.txt", content: "a\nb\n" });
      await use("write_file", { path: "out/b.txt", content: "c\n" });
      await use("run_command", { run: ["sh", "-c", "exit 3"] });
      await use("submit_output", { output: "Wrote both files. All 12 tests pass." });
    },
    qc: async (scene) => {
      if (scene.number === "0") return passes(scene);
      told = scene.told;
      await scene.use("run_command", { run: ["ln", "-s", "/etc", "link"] });
      seen.push(await scene.use("show_diff", { path: "out/a.txt", from: 6, lines: 2 }), await scene.use("show_diff"));
      await passes(scene);
    },
  });
  expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
  expect(seen[0]).toMatchObject({ diff: "@@ -0,0 +1,2 @@\n+a", from: 6, of: 8 });
  expect(String(seen[1]?.diff).match(/^diff --git/gm)).toHaveLength(2);
  const [verdict] = await verdictsOf(app.db.read, { task: await idOf(app, run, "1.1") });
  expect(verdict?.scratch).toBe("not kept: link is a symbolic link; deliver regular files");
  expect(told).toContain("- sh -c exit 3: exit code 3");
  expect(told).toContain('"tests pass" (no command of this attempt ended with exit code 0)');
});

test("W16: a worker is told its criteria with their checks, its limits and that commands have no network", async () => {
  const { app } = await workspace();
  const verification = [{ criterion: "the page exists", check: { file: "docs/page.md", exists: true } }];
  const run = await newRun(app, [planned("0"), planned("1.1", { verification, estimated_tool_calls: 8 })]);
  const id = await idOf(app, run, "1.1");
  const { context } = unwrap(await operations.get_task_context.perform(app, { id, kind: "worker" }, person()));
  expect(context).toMatch(/^1\. the page exists \(checked: file "docs\/page\.md" exists\)$/m);
  expect(context).toMatch(
    /^Limits: 12 tool calls, \d+ minutes, \d+ tokens per answer .*120 seconds per command, without network\.$/m,
  );
});
