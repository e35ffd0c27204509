import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RunSpec } from "../../src/agents/runner.ts";
import { scriptedRunner } from "../../src/agents/scripted.ts";
import type { CrewAgents, News } from "../../src/crew/record/run-host.ts";
import { acceptedBranch } from "../../src/crew/rules/branches.ts";
import { type Plan, plan } from "../../src/crew/rules/plan.ts";
import { ok, unwrap } from "../../src/kernel/result.ts";
import { ended, type Place, succeed } from "../support/place.ts";
import { newWorkspace } from "../support/workspace.ts";
import { type Feature, type Files, type Pair, testA, testB } from "./pairs.ts";

/** How a pair ended: `red` is merged with failing tests, `conflict` not merged because of the text. */
export type End = "green" | "red" | "conflict";

export type Replayed = {
  /** Two branches merged by git, one after the other. */
  naive: End;
  crew: {
    end: End;
    /** Features in the accepted work. */
    accepted: number;
    attempts: number;
    /** Attempts that were not accepted because of the text, and because of checks on the merged files. */
    textConflicts: number;
    checkConflicts: number;
  };
};

export async function replay(place: Place, pair: Pair, sandbox: "auto" | "none"): Promise<Replayed> {
  return { naive: await mergeByGit(place, pair), crew: await mergeByCrew(place, pair, sandbox) };
}

const testsOf = (test: string) => ["node", "--test", "test/base.test.js", test];

/** All tests that are there, in a clean checkout. */
async function isGreen(place: Place, root: string, commit: string): Promise<boolean> {
  const folder = mkdtempSync(join(place.folder("green"), "tree-"));
  await succeed(place.start("git", ["-C", root, "worktree", "add", "--quiet", "--detach", folder, commit]));
  const { code } = await ended(place.start(process.execPath, ["--test", "test/"], { cwd: folder }));
  await succeed(place.start("git", ["-C", root, "worktree", "remove", "--force", folder]));
  return code === 0;
}

async function mergeByGit(place: Place, { base, a, b }: Pair): Promise<End> {
  const root = place.folder("naive");
  const run = (...args: string[]) => place.start("git", ["-C", root, ...identity, ...args]);
  const git = (...args: string[]) => succeed(run(...args));
  await git("init", "-q", "-b", "main");
  const commit = async (files: Files, message: string) => {
    write(root, files);
    await git("add", "-A");
    await git("commit", "-qm", message);
  };
  await commit(base, "Base");
  for (const [branch, { alone, what }] of [["a", a] as const, ["b", b] as const]) {
    await git("checkout", "-q", "-b", branch, "main");
    await commit(alone, what);
    if (!(await isGreen(place, root, branch))) throw new Error(`${what} is red by itself`);
  }
  await git("checkout", "-q", "main");
  await git("merge", "-q", "--no-edit", "a");
  const { code } = await ended(run("merge", "-q", "--no-edit", "b"));
  if (code !== 0) return "conflict";
  return (await isGreen(place, root, "main")) ? "green" : "red";
}

const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];

function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

async function mergeByCrew(place: Place, pair: Pair, sandbox: "auto" | "none"): Promise<Replayed["crew"]> {
  const made = await newWorkspace(place, { entries: new Map([["vision", "Pairs.\n"]]) });
  write(made.root, pair.base);
  const crew = { sandbox, reports: "facts", read: [dirname(dirname(process.execPath))] };
  write(made.root, { "scriptorium.yaml": `name: Bench\ncrew: ${JSON.stringify(crew)}\n` });
  await made.git("add", "-A");
  await made.git("commit", "-qm", "Base");
  const app = await made.open();
  try {
    const { id: run } = await app.runs.create(`${pair.a.what}, and ${pair.b.what}`, "Ada");
    unwrap(await app.runs.adopt(run, planFor(pair), "Ada"));
    const news: News[] = [];
    app.host.onNews((one) => void news.push(one));
    const agents = replaying(pair);
    const started = unwrap(await app.host.execute(run, { workers: 2, by: "Ada", agents }));
    const { state, tasks, branch, reason } = unwrap(await started.ended);
    if (state !== "completed" && state !== "failed") throw new Error(`${pair.name}: ${state}, ${reason}`);
    const green = branch !== null && (await isGreen(place, made.root, acceptedBranch(run)));
    const conflicts = news.filter(({ kind }) => kind === "merge-conflict");
    const textConflicts = conflicts.filter(({ reason }) => reason?.startsWith("merge conflict")).length;
    return {
      end: state === "failed" && !pair.contradicts ? "conflict" : green ? "green" : "red",
      accepted: tasks.completed - 1,
      attempts: news.filter(({ kind, number }) => kind === "attempt-started" && number !== "0").length,
      textConflicts,
      checkConflicts: conflicts.length - textConflicts,
    };
  } finally {
    await app.close();
  }
}

function planFor({ a, b }: Pair): Plan {
  const plain = {
    worker_role: "A JavaScript engineer",
    qc_role: "A critical reviewer",
    execution: ["write the files"],
  };
  const built = (number: string, { what }: Feature, test: string) => ({
    ...plain,
    number,
    title: what,
    requirements: `Build it: ${what}.`,
    verification: [{ criterion: "its tests and those from before pass", check: { run: testsOf(test) } }],
    deliverable: "files" as const,
  });
  return plan.parse({
    title: "Two features",
    tasks: [
      {
        ...plain,
        number: "0",
        title: "See that Node is there",
        requirements: "Run node --version.",
        verification: [{ criterion: "Node runs", check: { run: ["node", "--version"] } }],
        deliverable: "text",
      },
      built("1.1", a, testA),
      built("1.2", b, testB),
    ],
  });
}

/** Workers that replay the prepared solutions by what they find in their folder; verifiers that believe the checks. */
function replaying({ a, b, both, careless }: Pair): CrewAgents {
  let arrived = 0;
  let go: () => void = () => undefined;
  const bothHere = new Promise<void>((done) => {
    go = done;
  });
  const retries = new Map<string, number>();

  async function work(spec: RunSpec): Promise<void> {
    const number = /^# Task ([\d.]+)/m.exec(spec.prompt)?.[1] ?? "0";
    const use = usingTools(spec);
    if (number !== "0") {
      const [own, test] = number === "1.1" ? [a, testB] : [b, testA];
      // The other feature is accepted as soon as its test is there, even if a careless attempt overwrote its code.
      const isMerged = (await use("read_file", { path: test })).content !== undefined;
      const isRetry = /^Output of attempt \d+ /m.test(spec.prompt);
      if (!isRetry) {
        // Both have their folder before either is merged: they work at the same time.
        if (++arrived === 2) go();
        await bothHere;
      }
      const nth = retries.get(number) ?? 0;
      if (isRetry) retries.set(number, nth + 1);
      const repeats = careless && nth === 0;
      const files = isMerged && !repeats && Object.keys(both).length > 0 ? both : own.alone;
      for (const [path, content] of Object.entries(files)) await use("write_file", { path, content });
    }
    await use("submit_output", { output: `Built ${number}.` });
  }

  async function judge(spec: RunSpec): Promise<void> {
    const evidence = [{ criterion: 1, met: true, quote: "exit code 0", from: "check" }];
    await usingTools(spec)("submit_verdict", { verdict: "PASS", score: 90, feedback: "The tests pass.", evidence });
  }

  return (part) =>
    ok({
      runner: scriptedRunner(async (spec) => {
        if (part === "worker") await work(spec);
        else if (part === "qc") await judge(spec);
        return undefined;
      }),
      model: undefined,
      role: "engineer",
      env: {},
    });
}

const usingTools =
  ({ tools }: RunSpec) =>
  async (name: string, input: unknown): Promise<Record<string, unknown>> => {
    const result = await tools?.call(name, input);
    return result?.ok ? (result.value as Record<string, unknown>) : {};
  };

/** A solution must hold by itself: with both features every test passes. */
export async function areBothGreen(place: Place, { base, both }: Pair): Promise<boolean> {
  const root = place.folder("both");
  write(root, { ...base, ...both });
  const { code } = await ended(place.start(process.execPath, ["--test", "test/"], { cwd: root }));
  return code === 0;
}
