import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { allOperations, operations } from "../src/operation-list.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { gitAt } from "../src/store/git/git.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import {
  dataKeys,
  newTraps,
  places,
  plantTraps,
  programKeys,
  put,
  type TrapPlace,
  type Traps,
} from "./support/hostile-repository.ts";
import { openTopic, over, runQueue, startJob } from "./support/jobs.ts";
import { ask } from "./support/requests.ts";
import {
  agent,
  gitIn,
  newWorkspace,
  person,
  temporaryFolder,
  testEnvironment,
  untrusted,
} from "./support/workspace.ts";

const guide = "# Guide\n\none\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const config = "agent:\n  author_name: Larkspur Scribe\n  author_email: scribe@example.org\n";
const files = { "docs/guide.md": guide, "docs/deploy.md": "# Deploy\n\nPush the button.\n" };

async function hostileWorkspace(traps: Traps, place: TrapPlace, more: Parameters<typeof newWorkspace>[0] = {}) {
  const made = await newWorkspace({ files, ...more });
  plantTraps(made.root, place, traps);
  traps.reset();
  await made.app.close();
  // The person trusts scriptorium.yaml, which names the database, and not the repository's own git configuration.
  const { trust } = unwrap(loadConfig(made.root, { ...testEnvironment(), ...untrusted }));
  trust.workspace.allow([trust.item()], "Ada", new Date());
  return { ...made, app: await made.open(untrusted) };
}

describe("S4, T14: the traps", () => {
  test("S4: plain git runs them, so that a silent trap means something", async () => {
    const traps = newTraps();
    const { root, app } = await hostileWorkspace(traps, "in .git/config");
    await app.close();
    const run = (...args: string[]) => {
      try {
        execFileSync("git", ["-C", root, ...args], { env: testEnvironment(), stdio: "ignore" });
      } catch {
        // Some traps are no use as the program that they stand for.
      }
    };
    run("log", "-1");
    run("-c", "core.fsmonitor=false", "log", "-p", "-2", "--no-show-signature", "--ext-diff");
    appendFileSync(join(root, "docs/guide.md"), "changed\n");
    run("status");
    run("-c", "core.fsmonitor=false", "diff", "--no-ext-diff");
    run("worktree", "add", join(temporaryFolder(), "x"), "HEAD");
    run("merge-tree", "--write-tree", commitWith(root, "one", "ONE"), commitWith(root, "seven", "SEVEN"));
    expect(traps.sprung()).toEqual(
      expect.arrayContaining([
        "core.fsmonitor",
        "diff.*.command",
        "diff.*.textconv",
        "filter.*.clean",
        "filter.*.smudge",
        "gpg.openpgp.program",
        "hook:post-checkout",
        "hook:reference-transaction",
        "merge.*.driver",
        "submodule:filter",
        "submodule:fsmonitor",
      ]),
    );
  });

  test("S4: every key that names a program, among those that this git knows, has a trap", () => {
    const known = execFileSync("git", ["help", "--config"], { encoding: "utf8" }).split("\n");
    const suspicious =
      /(cmd|command|commands|program|helper|driver|textconv|external|editor|pager|hook|hookspath|proxy|askpass|process|clean|smudge|tool|tunnel|browser|viewer|uploadpack|receivepack|vcs|update|fsmonitor)$/i;
    const trapped = new Set(programKeys.map((key) => key.toLowerCase()));
    const isTrapped = (key: string) =>
      trapped.has(key.toLowerCase()) || trapped.has(key.toLowerCase().replace("gpg.*.", "gpg.ssh."));
    const missing = known
      .map((key) => key.trim().replace(/<[^>]+>/g, "*"))
      .filter((key) => suspicious.test(key) && !isTrapped(key) && !dataKeys.has(key));
    expect(missing).toEqual([]);
  });
});

describe.each([
  ...places.map((place) => ({ place, engine: "sqlite" as const })),
  { place: "in .git/config" as const, engine: "postgres" as const },
])("S4, T14: no program runs that a hostile repository names $place, on $engine", ({ place, engine }) => {
  test("S4, T14: by any operation, page or entry", async () => {
    const traps = newTraps();
    const { app, root } = await hostileWorkspace(traps, place, { engine });
    const { url, token } = await serve(root, untrusted);
    for (const path of [
      "/api/pages",
      "/api/pages/docs%2Fguide.md",
      "/api/entries/notes/history",
      "/api/search?query=one",
    ])
      expect((await ask(url, path, { token })).status, path).toBe(200);

    const { version } = await app.entries.fetch("notes");
    unwrap(
      await operations.commit_entry.perform(app, { id: "notes", content: "by agent\n", version }, agent("planner")),
    );
    unwrap(await operations.append_log.perform(app, { id: "decisions", line: "chosen" }, agent("planner")));
    unwrap(await operations.add_source.perform(app, { name: "a.txt", content: "raw\r\n" }, person()));
    await approvedPage(app, guide.replace("two", "2"));
    expect(await app.recorder.drain(5000)).toBeUndefined();
    // A missing object would be fetched by a repository that says it is a partial clone.
    expect(await app.git.readBlob("1".repeat(40))).toBeUndefined();

    let answered = 0;
    for (const operation of allOperations) {
      if (notHere.has(operation.name)) continue;
      const result = await operation.perform(app, plausible(operation.input), person());
      if (result.ok) answered++;
    }
    expect(answered).toBeGreaterThan(25);
    expect(traps.sprung()).toEqual([]);
  });

  test("S4, T14: by a run with a merge, its revert, a job and the planner's checkout", async () => {
    const traps = newTraps();
    const { app } = await hostileWorkspace(traps, place, { engine, config });
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    const lines: Record<string, [string, string]> = { "1.1": ["one", "ONE"], "1.2": ["seven", "SEVEN"] };
    const writes = playing({
      worker: async ({ number, use }) => {
        const [from, to] = lines[number] ?? ["", ""];
        if (number !== "0") await use("write_file", { path: "docs/guide.md", content: guide.replace(from, to) });
        await use("submit_output", { output: `made ${number}` });
      },
      qc: passes,
    });
    expect(await executed(app, run, writes)).toMatchObject({ state: "completed", reason: null });
    const merged = await app.git.text(["cat-file", "blob", `refs/heads/scriptorium/${run}/accepted:docs/guide.md`]);
    expect(merged).toBe(guide.replace("one", "ONE").replace("seven", "SEVEN").trimEnd());
    await operations.revert_run.perform(app, { run, confirm: true }, person());

    await runQueue(app, async () => ({}));
    const { job_id } = unwrap(await startJob(app, { topic_id: await openTopic(app) }));
    await over(app, job_id);
    let seen = "";
    const planner = playing({
      pm: async ({ use }) => {
        seen = JSON.stringify(await use("list_files"));
        return undefined;
      },
    });
    await unwrap(await app.host.plan("Say it", { brief: false, by: "Ada", agents: planner })).ended;
    expect(seen).toContain("docs/guide.md");
    expect(traps.sprung()).toEqual([]);
  });
});

describe.each(places)("S4, T14: no program runs that a hostile repository names %s", (place) => {
  test("S4, T14: by init, doctor and remove", async () => {
    const traps = newTraps();
    const root = temporaryFolder();
    const home = temporaryFolder();
    const git = gitIn(root);
    git("init", "-q", "-b", "main");
    git("config", "user.name", "Ada");
    git("config", "user.email", "ada@example.org");
    put(root, files);
    git("add", "-A");
    git("commit", "-qm", "Begin");
    plantTraps(root, place, traps);
    traps.reset();
    const run = (...args: string[]) => scriptorium(args, { cwd: root, env: { HOME: home, ...untrusted } });
    expect(await run("init", "--yes")).toMatchObject({ code: 0 });
    await run("doctor");
    await run("status");
    expect(await run("remove", "--yes")).toMatchObject({ code: 0 });
    expect(traps.sprung()).toEqual([]);
  });
});

describe("S4, T14: other ways in", () => {
  test("S4: a filter that starts with git's own protocol does not run", async () => {
    const traps = newTraps();
    const { root, git } = await newWorkspace({ files });
    plantTraps(root, "in .git/config", traps, { process: true });
    traps.reset();
    const own = gitAt(root, testEnvironment());
    expect(await own.storedBlob("docs/guide.md", Buffer.from(guide))).toBe(blobOf(guide));
    expect(await own.isCommitted("docs/guide.md", Buffer.from(guide))).toBe(true);
    expect(traps.sprung()).toEqual([]);
    expect(git("--version")).toContain("git");
  });

  test("S4: a filter that the repository requires makes git fail, instead of storing content that it should change", async () => {
    const { root } = await newWorkspace({ files });
    const git = gitIn(root);
    git("config", "filter.crypt.clean", "sed s/a/b/");
    git("config", "filter.crypt.required", "true");
    put(root, { ".git/info/attributes": "docs/* filter=crypt\n" });
    const held = gitAt(root, testEnvironment());
    await expect(held.storedBlob("docs/guide.md", Buffer.from(guide))).rejects.toThrow(
      /filter .*failed.*names programs that are not allowed; review them with: scriptorium allow/s,
    );
    const allowed = gitAt(root, testEnvironment(), () => true);
    expect(await allowed.storedBlob("docs/guide.md", Buffer.from("aa\n"))).toBe(blobOf("ba\n"));
  });

  test("S4: an included file that is a pipe is refused instead of read", async () => {
    const { root } = await newWorkspace({ files });
    execFileSync("mkfifo", [join(root, ".git/pipe")]);
    appendFileSync(join(root, ".git/config"), '[includeIf "gitdir:**/worktrees/**"]\n\tpath = pipe\n');
    await expect(gitAt(root, testEnvironment()).storedBlob("docs/guide.md", Buffer.from("x"))).rejects.toThrow(
      "which is not a regular file; remove the include",
    );
  });

  test("S4: a folder that looks like a bare repository does not become the repository", async () => {
    const traps = newTraps();
    const root = temporaryFolder();
    const git = gitIn(root);
    git("init", "-q", "-b", "main");
    execFileSync("git", ["init", "-q", "--bare", join(root, "docs")]);
    appendFileSync(join(root, "docs/config"), `[core]\n\tfsmonitor = "${traps.command("bare")}"\n\tworktree = ..\n`);
    const { commonDir } = await gitAt(join(root, "docs"), testEnvironment())
      .place()
      .catch(() => ({ commonDir: "none" }));
    expect(commonDir).not.toBe(join(root, "docs"));
    expect(traps.sprung()).toEqual([]);
  });

  test("S4: a program that is configured while Scriptorium runs is held from the next call on", async () => {
    const traps = newTraps();
    const { root } = await newWorkspace({ files });
    const own = gitAt(root, testEnvironment());
    put(root, { ".git/info/attributes": "* filter=late\n" });
    await own.storedBlob("docs/guide.md", Buffer.from("x"));
    gitIn(root)("config", "filter.late.clean", traps.command("late"));
    await own.storedBlob("docs/guide.md", Buffer.from("x"));
    expect(await own.programs()).toEqual([{ key: "filter.late.clean", value: traps.command("late") }]);
    expect(traps.sprung()).toEqual([]);
  });
});

describe("N11, S4: the person's own configuration", () => {
  const ownGit = (settings: string) => {
    const home = temporaryFolder();
    writeFileSync(join(home, "own.cfg"), settings);
    return {
      ...testEnvironment(),
      GIT_CONFIG_GLOBAL: join(home, "own.cfg"),
      GIT_DIR: "/elsewhere",
      GIT_INDEX_FILE: "/x",
    };
  };

  test("N11: GIT_CONFIG_GLOBAL names the author, and other inherited GIT_ variables have no effect", async () => {
    const root = temporaryFolder();
    gitIn(root)("init", "-q", "-b", "main");
    const own = gitAt(root, ownGit("[user]\n\tname = Grace\n\temail = grace@example.org\n"));
    expect(await own.person()).toEqual({ name: "Grace", email: "grace@example.org" });
    expect((await own.place()).gitDir).toBe(join(root, ".git"));
  });

  test("S4: a filter of the person runs, also when the repository tries to replace it", async () => {
    const traps = newTraps();
    const { root } = await newWorkspace({ files });
    put(root, { ".git/info/attributes": "* filter=lfs merge=own\n" });
    gitIn(root)("config", "filter.lfs.clean", traps.command("local"));
    const own = gitAt(root, ownGit('[filter "lfs"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n'));
    expect(await own.storedBlob("docs/guide.md", Buffer.from("ab\n"))).toBe(blobOf("AB\n"));
    expect(traps.sprung()).toEqual([]);
  });
});

/** A commit on HEAD with one line of the guide changed, made without filters. */
function commitWith(root: string, from: string, to: string): string {
  const env = {
    ...testEnvironment(),
    GIT_INDEX_FILE: join(temporaryFolder(), "index"),
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@b.c",
  };
  const git = (args: string[], input = "") =>
    execFileSync("git", ["-c", "core.hooksPath=/dev/null", "-C", root, ...args], {
      env,
      input,
      encoding: "utf8",
    }).trim();
  const blob = git(["hash-object", "-w", "--stdin"], guide.replace(from, to));
  git(["read-tree", "HEAD"]);
  git(["update-index", "--cacheinfo", `100644,${blob},docs/guide.md`]);
  return git(["-c", "user.name=A", "-c", "user.email=a@b.c", "commit-tree", "-p", "HEAD", git(["write-tree"])], to);
}

/** Operations that need more than this test sets up: agents of a crew, a model, or the network. */
const notHere = new Set(["install_model", "follow_folder", "execute_run", "start_run"]);

const values: Record<string, unknown> = {
  ...{ id: "notes", path: "docs/guide.md", source_path: "docs/guide.md", query: "one", text: "one", title: "T" },
  ...{ content: "text\n", request: "Do it", name: "b.txt", line: "noted", message: "m", reason: "r", run: "run-1" },
  ...{ kind: "change", mode: "snapshot", writable_by: ["planner"], description: "d", status: "open", version: 2 },
  ...{
    base_source_sha: "2".repeat(40),
    rank: "reader",
    email: "x@example.org",
    type: "note",
    properties: {},
    under: "docs",
  },
};

/** Every field of the input of which a value is known. */
function plausible(input: unknown): Record<string, unknown> {
  const shape = (input as { shape?: Record<string, unknown> }).shape ?? {};
  return Object.fromEntries(Object.keys(shape).flatMap((key) => (key in values ? [[key, values[key]]] : [])));
}

async function approvedPage(app: App, text: string): Promise<void> {
  const about = { id: "t-1", path: "docs/guide.md", kind: "change", status: "open" };
  const base = blobOf(readFileSync(join(app.config.root, "docs/guide.md")));
  const { id } = unwrap(await proposePage(app, about, { baseSha: base, text }, person()));
  unwrap(await operations.approve_proposal.perform(app, { id }, person()));
}
