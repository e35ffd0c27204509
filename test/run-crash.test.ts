import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { doctor } from "../src/doctor/doctor.ts";
import { unwrap } from "../src/kernel/result.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { executed, newRun, type Play, passes, planned, playing, writes } from "./support/crew.ts";
import { recordEqualsRows } from "./support/replay.ts";
import { allEvents, gitIn, newWorkspace, person, read, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const config = "crew: { sandbox: none, reports: facts }\n";
const files = {
  "list.txt": "one\ntwo\n",
  "gone.txt": "old\n",
  ".gitignore": "runs/\ngenerated-agents/\n.scriptorium/\n",
};
/** Task 1.2 fails once and for all; the others are accepted. */
const never = [{ criterion: "it says so", check: { file: "out/1.2.txt", contains: "by hand" } }];
const tasks = [planned("0"), planned("1.1"), planned("1.2", { max_retries: 0, verification: never })];

const worker: Play = async (scene) => {
  if (scene.number === "1.1") {
    await scene.use("write_file", { path: "list.txt", content: "ONE\ntwo\n" });
    await scene.use("run_command", { run: ["rm", "-f", "gone.txt"] });
  }
  await writes()(scene);
};
const agents = (play: Play = worker) => playing({ worker: play, qc: passes });

let base: { root: string; run: string } | undefined;

/** A workspace with a run that has ended; made by the first test that needs it. */
async function prepared(): Promise<{ root: string; run: string }> {
  if (base) return base;
  const { app, root } = await newWorkspace({ config, files });
  const run = await newRun(app, tasks);
  await executed(app, run, agents());
  await app.close();
  const kept = join(mkdtempSync(join(tmpdir(), "scriptorium-run-crash-")), "workspace");
  cpSync(root, kept, { recursive: true });
  base = { root: kept, run };
  return base;
}

afterAll(() => base && rmSync(dirname(base.root), { recursive: true, force: true }));

/** A copy of the workspace in which a command was killed at a crash point, and the same command once more. */
async function killedAt(point: string, prepare: (at: Copy) => Promise<string[]> | string[], env = {}) {
  const { root: original, run } = await prepared();
  const root = join(temporaryFolder(), "workspace");
  cpSync(original, root, { recursive: true });
  const git = gitIn(root);
  const open = () => openApp(unwrap(loadConfig(root, testEnvironment())));
  const at = { root, git, open, run };
  const args = await prepare(at);
  const killed = await scriptoriumProcess(args, { cwd: root, env: { ...env, SCRIPTORIUM_CRASH_AT: point } });
  expect([killed.signal, killed.stderr]).toEqual(["SIGKILL", expect.any(String)]);
  const intact = async () => {
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    const app = await open();
    try {
      const { findings } = unwrap(await doctor.perform(app, {}, person()));
      expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
      await recordEqualsRows(app);
    } finally {
      await app.close();
    }
  };
  await intact();
  const again = async () => {
    const ran = await scriptoriumProcess(args, { cwd: root, env });
    expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)]);
    await intact();
    return ran;
  };
  return { ...at, again };
}

type Copy = { root: string; run: string; git: ReturnType<typeof gitIn>; open: () => Promise<App> };

async function withApp<T>({ open }: Pick<Copy, "open">, work: (app: App) => Promise<T>): Promise<T> {
  const app = await open();
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

const idOf = (at: Pick<Copy, "open" | "run">, number: string) =>
  withApp(at, async (app) => (await app.runs.tasks(at.run)).find((task) => task.number === number)?.task_id ?? "");
const kinds = (at: Pick<Copy, "open">, kind: string) =>
  withApp(at, async (app) => (await allEvents(app)).filter((event) => event.kind === kind));

describe("C4, C6, O11: run merge, killed", () => {
  test.each([
    ["merge-kept", []],
    ["merge-checked-out", []],
    ["merge-checked-out", ["--squash"]],
    ["merge-moved", []],
    ["merge-moved", ["--squash"]],
  ])(
    "at %s with %j, is finished by the same command, and what the person staged and edited stays",
    async (point, more) => {
      let before = "";
      const { root, git, again, open, run } = await killedAt(point, ({ root, git, run: id }) => {
        writeFileSync(join(root, "staged.txt"), "staged\n");
        git("add", "staged.txt");
        writeFileSync(join(root, "own.txt"), "own\n");
        before = git("status", "--porcelain");
        return ["run", "merge", id, ...more];
      });
      expect([read(join(root, "staged.txt")), read(join(root, "own.txt"))]).toEqual(["staged\n", "own\n"]);
      await again();
      expect(git("status", "--porcelain")).toBe(before);
      expect([read(join(root, "list.txt")), read(join(root, "out/1.1.txt"))]).toEqual(["ONE\ntwo\n", "1.1\n"]);
      expect(existsSync(join(root, "gone.txt"))).toBe(false);
      expect(git("diff", "--name-only", acceptedBranch(run), "HEAD", "--", "list.txt", "out", "gone.txt")).toBe("");
      expect(readdirSync(join(root, ".git")).filter((name) => name.startsWith("scriptorium-merge"))).toEqual([]);
      expect(await kinds({ open }, "run-merged")).toMatchObject([
        {
          data: { into: "main", commit: git("log", "-1", "--format=%H", "--first-parent", `--grep=^Run: ${run}`) },
        },
      ]);
    },
  );

  test("before it moved the branch, does not hide what the person changes afterwards", async () => {
    const { root, git, run } = await killedAt("merge-checked-out", ({ run }) => ["run", "merge", run]);
    writeFileSync(join(root, "list.txt"), "mine\n");
    const head = git("rev-parse", "HEAD");
    const ran = await scriptoriumProcess(["run", "merge", run], { cwd: root });
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("uncommitted changes in list.txt")]);
    expect([git("rev-parse", "HEAD"), read(join(root, "list.txt"))]).toEqual([head, "mine\n"]);
  });
});

describe("C4, C6, W7: task take, killed", () => {
  test.each([
    ["take-claimed", false],
    ["take-checked-out", false],
    ["take-checked-out", true],
  ])("at %s, --here: %j, is finished by the same command", async (point, here) => {
    let id = "";
    const { root, git, again, open, run } = await killedAt(point, async (at) => {
      id = await idOf(at, "1.2");
      return ["task", "take", id, ...(here ? ["--here"] : []), "--json"];
    });
    const taken = (await again()).json<{ folder: string; branch: string; attempt: number }>();
    expect(taken.attempt).toBe(1);
    expect(read(join(taken.folder, "out/1.2.txt"))).toBe("1.2\n");
    expect(git("worktree", "list", "--porcelain").match(/^worktree .*/gm)).toEqual([
      `worktree ${root}`,
      `worktree ${taken.folder}`,
    ]);
    const branches = git("branch", "--list", "*task-1.2*", "--format=%(refname:short)").split("\n");
    expect(branches.filter((name) => name !== taken.branch)).toHaveLength(1);
    writeFileSync(join(taken.folder, "out/1.2.txt"), "by hand\n");
    const back = await scriptoriumProcess(["task", "hand-back", id, "--json"], { cwd: root });
    expect(back.json()).toMatchObject({ state: "worker_completed", files: ["out/1.2.txt"] });
    await withApp({ open }, async (app) => {
      expect(await executed(app, run, agents())).toMatchObject({ state: "completed" });
    });
    expect(git("show", `${acceptedBranch(run)}:out/1.2.txt`)).toBe("by hand");
  });
});

/** Takes the task and does it by hand. */
async function byHand(at: Copy): Promise<{ id: string; folder: string }> {
  const id = await idOf(at, "1.2");
  const taken = (await scriptoriumProcess(["task", "take", id, "--json"], { cwd: at.root })).json<{ folder: string }>();
  writeFileSync(join(taken.folder, "out/1.2.txt"), "by hand\n");
  return { id, folder: taken.folder };
}

describe("C4, C6, W7: task hand-back, killed", () => {
  test.each(["hand-back-collected", "hand-back-submitted", "hand-back-completed"])(
    "at %s, is finished by the same command, and the work is verified once",
    async (point) => {
      let taken = { id: "", folder: "" };
      const { git, again, open, run } = await killedAt(point, async (at) => {
        taken = await byHand(at);
        return ["task", "hand-back", taken.id, "--json"];
      });
      expect((await again()).json()).toMatchObject({ state: "worker_completed", files: ["out/1.2.txt"] });
      expect(existsSync(taken.folder)).toBe(false);
      expect(git("worktree", "list").split("\n")).toHaveLength(1);
      await withApp({ open }, async (app) => {
        expect(await executed(app, run, agents())).toMatchObject({ state: "completed" });
        const passed = (await attemptsOf(app.db.read, { task: taken.id })).filter(({ phase }) => phase === "qc_passed");
        expect(passed).toHaveLength(1);
      });
      expect(git("show", `${acceptedBranch(run)}:out/1.2.txt`)).toBe("by hand");
    },
  );

  test("after the work is on record, keeps what the person changed since", async () => {
    let taken = { id: "", folder: "" };
    const { root } = await killedAt("hand-back-completed", async (at) => {
      taken = await byHand(at);
      return ["task", "hand-back", taken.id];
    });
    writeFileSync(join(taken.folder, "later.txt"), "later\n");
    const ran = await scriptoriumProcess(["task", "hand-back", taken.id], { cwd: root });
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`Your files are still in ${taken.folder}`)]);
    expect(read(join(taken.folder, "later.txt"))).toBe("later\n");
  });

  test("with --discard, is finished by the same command", async () => {
    let taken = { id: "", folder: "" };
    const { git, again } = await killedAt("hand-back-released", async (at) => {
      taken = await byHand(at);
      return ["task", "hand-back", taken.id, "--discard", "--json"];
    });
    expect((await again()).json()).toMatchObject({ state: "pending", files: [] });
    expect(existsSync(taken.folder)).toBe(false);
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
  });
});

describe("C4, C6, W7: run rerun, killed", () => {
  const points = ["rerun-recorded", "rerun-set-back"];
  const rerun = (run: string) => ["run", "rerun", run, "--from", "1.1", "--no-start", "--json"];

  test.each(points)("at %s, is finished by the same command", async (point) => {
    const { root, git, again, open, run } = await killedAt(point, ({ run }) => rerun(run));
    const preview = await scriptoriumProcess(["run", "rerun", run, "--dry-run", "--from", "1.1"], { cwd: root });
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining("would repeat")]);
    expect((await again()).json()).toMatchObject({ rerun: true, number: "1.1", kept: ["0"] });
    expect(git("diff", "--name-only", "main", acceptedBranch(run))).toBe("");
    expect(await kinds({ open }, "run-rerun")).toHaveLength(1);
  });

  test.each(points)("at %s, is finished when the run goes on", async (point) => {
    const { open, run } = await killedAt(point, ({ run }) => ["run", "rerun", run, "--no-start", "--from", "1.1"]);
    const found: unknown[] = [];
    await withApp({ open }, async (app) => {
      await executed(
        app,
        run,
        agents(async (scene) => {
          if (scene.number === "1.1") found.push((await scene.use("list_files", { glob: "{list.txt,out/**}" })).files);
          await worker(scene);
        }),
      );
    });
    expect(found[0]).toEqual(["list.txt"]);
  });
});

describe("C4, C6, T2: revert --run, killed", () => {
  test.each(["accept-recorded", "revert-recorded", "merge-checked-out", "revert-branch-moved"])(
    "at %s, is finished by the same command, and what the person staged and edited stays",
    async (point) => {
      let before = "";
      let head = "";
      const { root, git, again, open, run } = await killedAt(point, async ({ root, git, run: id }) => {
        head = git("rev-parse", "HEAD");
        await scriptoriumProcess(["run", "merge", id], { cwd: root });
        writeFileSync(join(root, "staged.txt"), "staged\n");
        git("add", "staged.txt");
        writeFileSync(join(root, "own.txt"), "own\n");
        before = git("status", "--porcelain");
        return ["revert", "--run", id, "--confirm"];
      });
      await again();
      expect(git("status", "--porcelain")).toBe(before);
      for (const branch of ["HEAD", acceptedBranch(run)])
        expect(git("diff", "--name-only", head, branch, "--", "list.txt", "out", "gone.txt")).toBe("");
      expect([read(join(root, "staged.txt")), read(join(root, "own.txt"))]).toEqual(["staged\n", "own\n"]);
      const commit = git("rev-parse", "HEAD");
      expect(await kinds({ open }, "run-files-reverted")).toMatchObject([{ data: { branch: "main", commit } }]);
      expect(git("log", "--first-parent", "--format=%s", `${head}..HEAD`).split("\n")).toHaveLength(2);
      await withApp({ open }, async (app) => {
        const states = (await app.runs.tasks(run)).map(({ task }) => task.state);
        expect(states).not.toContain("completed");
      });
    },
  );
});

test("B4: work that is merged before an interrupted rerun set the branch back does not keep the repeated files", async () => {
  const { git, again, run } = await killedAt("rerun-recorded", ({ run }) => [
    ...["run", "rerun", run, "--from", "1.1", "--no-start", "--json"],
  ]);
  const branch = acceptedBranch(run);
  // As a process of an older version would merge a kept task.
  const message = `Accept task 1.3: Do 1.3\n\nRun: ${run}\nTask: task-other\nNumber: 1.3\n`;
  const other = git("commit-tree", `${branch}^{tree}`, "-p", branch, "-m", message);
  git("update-ref", `refs/heads/${branch}`, other);
  expect((await again()).json()).toMatchObject({ rerun: true });
  expect(git("diff", "--name-only", "main", branch)).toBe("");
  expect(git("log", "-1", "--format=%s", branch)).toBe("Accept task 1.3: Do 1.3");
});

describe("C4, O11: run pr, killed", () => {
  test.each(["branch-pushed", "pull-request-opened"])("at %s, is finished by the same command", async (point) => {
    const address = "https://github.example.org/acme/mail.git";
    const pull = "https://github.example.org/acme/mail/pull/7";
    const place = temporaryFolder();
    const bare = join(place, "mail.git");
    const gitconfig = join(place, "gitconfig");
    writeFileSync(gitconfig, `[user]\n\tname = Ada\n[url "${bare}"]\n\tpushInsteadOf = ${address}\n`);
    mkdirSync(join(place, "bin"));
    // As gh does: the second request for a branch is refused with the address of the first.
    const gh = `#!/bin/sh\n[ "$2" = edit ] && exit 0\nif [ -e ${place}/opened ]; then\n  echo 'a pull request for branch "x" already exists:' >&2; echo ${pull} >&2; exit 1\nfi\necho x >> ${place}/opened\necho ${pull}\n`;
    writeFileSync(join(place, "bin/gh"), gh);
    chmodSync(join(place, "bin/gh"), 0o755);
    const env = { GIT_CONFIG_GLOBAL: gitconfig, PATH: [join(place, "bin"), testEnvironment().PATH].join(delimiter) };
    const killed = await killedAt(
      point,
      ({ git, run }) => {
        git("init", "-q", "--bare", bare);
        git("remote", "add", "origin", address);
        return ["run", "pr", run, "--json"];
      },
      env,
    );
    expect((await killed.again()).json()).toMatchObject({ pushed: true, pull_request: pull });
    expect(read(join(place, "opened"))).toBe("x\n");
    const branch = acceptedBranch(killed.run);
    expect(gitIn(bare)("rev-parse", branch)).toBe(killed.git("rev-parse", branch));
    expect(await kinds(killed, "run-pushed")).toMatchObject([{ data: { pull_request: pull } }]);
  });
});
