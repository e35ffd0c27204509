import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerOf, checkIntact, type Ended, inCopy, newWorkspace, run, succeed } from "./support/commands.ts";
import { startCrewModel } from "./support/crew.ts";
import type { Context, Proof } from "./support/proof.ts";
import { shuffled } from "./support/shuffled.ts";

export const proof: Proof = {
  promise:
    "Killed at any crash point, a workspace opens again, `scriptorium doctor` finds no problem, and git has each version once",
  async run(context) {
    const model = await startCrewModel();
    try {
      const base = await newWorkspace(context);
      const acts = await prepare(context, base, model);
      const inTests = pointsOfTests();
      const points = shuffled(
        crashPoints().filter((point) => !inTests.has(point)),
        context.random,
      );
      const killed = new Set<string>();
      for (const point of points) {
        for (const act of point.startsWith("crew-") ? [acts.execute] : shuffled(acts.writes, context.random)) {
          if (Date.now() > context.until) return;
          if (!(await killAt(context, base, act, point))) continue;
          killed.add(point);
          break;
        }
        if (!killed.has(point)) context.check(false, `no act passes the crash point ${point}`);
        context.note(`${killed.size} of ${points.length} named points`);
      }
      // The same point is passed several times in one act: the rest of the time goes to the n-th point of an act.
      for (let more = 0; Date.now() < context.until; ) {
        const act = acts.writes[Math.floor(context.random() * acts.writes.length)] as Act;
        if (await killAt(context, base, act, String(1 + Math.floor(context.random() * 30)))) more++;
        context.note(`${killed.size} of ${points.length} named points, ${more} random steps`);
      }
    } finally {
      model.close();
    }
  },
};

type Act = {
  what: string;
  run(root: string, env: Record<string, string>): Promise<Ended>;
  /** Must succeed after the crash, if given. */
  resume?: (root: string) => Promise<Ended>;
};

/** True if the act was killed there; an act that does not pass the point is not a try. */
function killAt(context: Context, base: string, act: Act, point: string): Promise<boolean> {
  return inCopy(context, base, async (root) => {
    const { signal, code, stderr } = await act.run(root, { SCRIPTORIUM_CRASH_AT: point });
    if (signal !== "SIGKILL") {
      if (code !== 0) throw new Error(`${act.what} failed without a crash: ${stderr}`);
      return false;
    }
    const after = `${act.what} killed at ${point}`;
    await checkIntact(context, root, after);
    if (act.resume) {
      const resumed = await act.resume(root);
      context.check(resumed.code === 0, `after ${after}: resume: ${resumed.stderr}`);
      await checkIntact(context, root, `${after} and resumed`);
    }
    return true;
  });
}

/** Names in the source, so that a new point cannot be forgotten here. */
function crashPoints(): string[] {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => /\.ts$/.test(file));
  const names = files.flatMap((file) =>
    [...readFileSync(join("src", file), "utf8").matchAll(/crashPoint\("([^"]+)"\)/g)].map(([, name]) => name ?? ""),
  );
  return [...new Set(names)].sort();
}

/** Points of commands that need workspaces of another kind; tests of their own kill the process there. */
function pointsOfTests(): Set<string> {
  const texts = ["run-crash", "store-move", "backup"].map((name) => readFileSync(`test/${name}.test.ts`, "utf8"));
  return new Set(crashPoints().filter((point) => texts.some((text) => text.includes(`"${point}"`))));
}

async function prepare(context: Context, base: string, model: Awaited<ReturnType<typeof startCrewModel>>) {
  const scribe = (root: string, args: string[], env = {}, input = "") =>
    run(context, "scribe", args, { cwd: root, env, input });
  const scriptorium = (root: string, args: string[], env = {}) =>
    run(context, "scriptorium", args, { cwd: root, env: { ...model.env, ...env } });

  appendFileSync(join(base, "scriptorium.yaml"), model.config);
  await succeed(context, "git", ["commit", "-qam", "Configure the crew"], { cwd: base });
  const section = ["--id", "limits", "--title", "Limits", "--mode", "log", "--writable-by", "engineer"];
  const proposed = answerOf(
    (await scribe(base, ["create-section", "--role", "engineer", ...section, "--description", "What we ran into."]))
      .stdout,
  );
  const planned = answerOf((await scriptorium(base, ["plan", "Make it", "--json"])).stdout);
  if (!proposed?.proposal_id || !planned?.run) throw new Error("could not prepare a proposal and a plan");
  const commit = ["commit-entry", "--role", "planner", "--id", "vision", "--version"];

  const writes: Act[] = [
    { what: "a commit", run: (root, env) => scribe(root, [...commit, "1"], env, "New text.\n") },
    {
      what: "an append",
      run: (root, env) => scribe(root, ["append-log", "--role", "engineer", "--id", "decisions", "--line", "x"], env),
    },
    {
      what: "a commit after a person's edit",
      run(root, env) {
        writeFileSync(join(root, "wiki/vision.md"), "---\ntitle: Vision\n---\n\nBy hand.\n");
        return scribe(root, [...commit, "2"], env, "By agent.\n");
      },
    },
    {
      what: "adding a source",
      run(root, env) {
        writeFileSync(join(root, "input.txt"), "raw input\n");
        return scriptorium(root, ["source", "add", "input.txt"], env);
      },
    },
    {
      what: "approving a section",
      run(root, env) {
        const SCRIPTORIUM_TOKEN = readFileSync(join(root, ".scriptorium/token"), "utf8").trim();
        return scriptorium(root, ["proposal", "approve", String(proposed.proposal_id)], { ...env, SCRIPTORIUM_TOKEN });
      },
    },
  ];
  const execute: Act = {
    what: "a run",
    run(root, env) {
      model.reset();
      return scriptorium(root, ["execute", String(planned.run), "--json"], env);
    },
    resume: (root) => scriptorium(root, ["run", "resume", String(planned.run), "--json"]),
  };
  return { writes, execute };
}
