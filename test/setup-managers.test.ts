import { execFile } from "node:child_process";
import { readdirSync, realpathSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { findProgram } from "../src/agents/program.ts";
import { detectedSetup } from "../src/crew/record/setup-spec.ts";
import { checkSetup } from "../src/doctor/machine/setup.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { setupsOf } from "../src/store/queries/setups.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { packageManager } from "./support/package-managers.ts";
import { npmLock, projectWithRegistry } from "./support/packages.ts";
import { needs, skipNow } from "./support/programs.ts";
import { newWorkspace, person, personsNetwork, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const agents = playing({ worker: writes(), qc: passes });
const printing = (run: string[]) => [
  { criterion: "the test passes", check: { run, exits: 0, prints: "greeting 1.0.0" } },
];

describe("package managers", needs("bubblewrap"), () => {
  test.each([
    {
      name: "pnpm" as const,
      file: "pnpm-lock.yaml",
      command: ["pnpm", "install", "--lockfile-only"],
      installs: "pnpm install --frozen-lockfile",
    },
    {
      name: "yarn" as const,
      file: "yarn.lock",
      command: ["yarn", "install", "--ignore-scripts"],
      installs: "yarn install --frozen-lockfile",
    },
    {
      name: "berry" as const,
      file: "yarn.lock",
      command: ["yarn", "install", "--mode=update-lockfile"],
      files: { ".yarnrc.yml": "nodeLinker: node-modules\nunsafeHttpWhitelist: [127.0.0.1]\n" },
      installs: "yarn install --immutable",
    },
  ])("W5: $name installs from its lockfile, and the test is green", async ({ name, installs, ...lock }) => {
    const path = await packageManager(name);
    const { app } = await projectWithRegistry({ lock: { ...lock, path } });
    const run = await newRun(app, [planned("0", { verification: printing(["node", "test.js"]) })]);
    const outcome = await executed(app, run, agents);
    expect([outcome.reason, outcome.state]).toEqual([null, "completed"]);
    const [setup] = await setupsOf(app.db.read, run);
    expect(setup?.commands.map((words) => words.join(" "))).toEqual([installs]);
  });

  test("W5: yarn 4 without node_modules keeps its packages in the folder", async () => {
    const path = await packageManager("berry");
    const lock = {
      file: "yarn.lock",
      command: ["yarn", "install", "--mode=update-lockfile"],
      files: { ".yarnrc.yml": "unsafeHttpWhitelist: [127.0.0.1]\n", ".gitignore": ".scriptorium/\n.yarn/\n.pnp.*\n" },
      path,
    };
    const { app } = await projectWithRegistry({ lock, files: lock.files });
    const check = printing(["node", "--require", "./.pnp.cjs", "test.js"]);
    const run = await newRun(app, [planned("0", { verification: check })]);
    const outcome = await executed(app, run, agents);
    expect([outcome.reason, outcome.state]).toEqual([null, "completed"]);
  });

  test("W5: npm installs a package of the person's registry, whatever it is", async () => {
    const manifest = { name: "project", private: true, dependencies: { ms: "2.1.3" } };
    const { root, git, open } = await newWorkspace({
      files: {
        ".gitignore": ".scriptorium/\nnode_modules/\n",
        "package.json": JSON.stringify(manifest),
        "test.js": `console.log("greeting " + (require("ms")("1s") === 1000 ? "1.0.0" : ""));\n`,
      },
    });
    const [program = "", ...args] = [...npmLock, "--fetch-retries=0", "--fetch-timeout=20000"];
    const env = { ...testEnvironment(), ...personsNetwork() };
    await promisify(execFile)(program, args, { cwd: root, env, timeout: 60_000 }).catch((error: Error) =>
      skipNow(`the registry of npm cannot be reached: ${error.message.split("\n").slice(0, 2).join(" ")}`),
    );
    git("add", "-A");
    git("commit", "-qm", "Lock");
    const app = await open(personsNetwork());
    const run = await newRun(app, [planned("0", { verification: printing(["node", "test.js"]) })]);
    const outcome = await executed(app, run, agents);
    expect([outcome.reason, outcome.state]).toEqual([null, "completed"]);
  });

  test.each([
    { manager: "pnpm@10.33.4", lock: ["pnpm", "install", "--lockfile-only"], file: "pnpm-lock.yaml" },
    { manager: "yarn@4.9.4", lock: ["yarn", "install", "--mode=update-lockfile"], file: "yarn.lock" },
  ])(
    "W5: corepack downloads $manager, which packageManager names, from the registry",
    async ({ manager, lock, file }) => {
      const corepack = findProgram("corepack", process.env.PATH ?? "", "/");
      if (corepack === undefined) return skipNow("corepack is not installed");
      const path = [...new Set([dirname(process.execPath), dirname(corepack), "/usr/bin", "/bin"])].join(":");
      if (findProgram(lock[0] ?? "", path, "/")) return skipNow(`${lock[0]} is beside corepack in PATH`);
      const { stdout: registry } = await promisify(execFile)("npm", ["config", "get", "registry"], { cwd: "/" });
      // Mirrors often leave out the signatures that the registry of npm has.
      const variables = {
        ...personsNetwork(),
        COREPACK_INTEGRITY_KEYS: "0",
        PATH: path,
      };
      const manifest = { name: "project", private: true, packageManager: manager, dependencies: { ms: "2.1.3" } };
      const { root, git, open } = await newWorkspace({
        files: {
          ".gitignore": ".scriptorium/\nnode_modules/\n.yarn/\n.pnp.*\n",
          ".yarnrc.yml": "nodeLinker: node-modules\n",
          "package.json": JSON.stringify(manifest),
          "test.js": `console.log("greeting " + (require("ms")("1s") === 1000 ? "1.0.0" : ""));\n`,
        },
      });
      const env = {
        ...{
          ...testEnvironment(),
          ...variables,
          COREPACK_HOME: temporaryFolder(),
          COREPACK_ENABLE_DOWNLOAD_PROMPT: "0",
        },
        ...{ COREPACK_NPM_REGISTRY: registry.trim().replace(/\/$/, ""), YARN_NPM_REGISTRY_SERVER: registry.trim() },
      };
      await promisify(execFile)("corepack", lock, { cwd: root, env, timeout: 120_000 }).catch((error: Error) =>
        skipNow(`corepack cannot download ${manager}: ${error.message.split("\n").slice(0, 2).join(" ")}`),
      );
      git("add", "-A");
      git("commit", "-qm", "Lock");
      expect(git("ls-files", file)).toBe(file);
      const app = await open(variables);
      const run = await newRun(app, [planned("0", { verification: printing(["node", "test.js"]) })]);
      const outcome = await executed(app, run, agents);
      expect([outcome.reason, outcome.state]).toEqual([null, "completed"]);
      expect((await setupsOf(app.db.read, run))[0]?.commands[0]?.slice(0, 3)).toEqual(["corepack", lock[0], "install"]);
    },
  );

  test("W5: run clean deletes installed dependencies that no unfinished run uses", async () => {
    const { app } = await projectWithRegistry();
    const folder = join(app.config.stateFolder, "setups/made");
    const [done, open] = [await newRun(app, [planned("0")]), await newRun(app, [planned("0")])];
    await executed(app, done, agents);
    const stops = new AbortController();
    const stopping = playing({ worker: async () => void stops.abort(), qc: passes });
    expect(await executed(app, open, stopping, { signal: stops.signal })).toMatchObject({ state: "stopped" });
    const clean = async (input: object) => unwrap(await operations.clean_runs.perform(app, input, person()));
    expect((await clean({})).setups).toEqual([]);
    expect(readdirSync(folder)).toHaveLength(1);
    unwrap(await operations.cancel_run.perform(app, { id: open }, person()));
    expect((await clean({ dry_run: true })).setups).toMatchObject([{ bytes: expect.any(Number) }]);
    expect((await clean({})).setups).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("W5: doctor names the package manager that the lockfile asks for, and says when it is missing", async () => {
    const { app } = await newWorkspace({
      files: { "package.json": "{}", "pnpm-lock.yaml": "lockfileVersion: '9.0'\n" },
      config: "crew: { agents: { all: { runner: model, model: local/one } } }\n",
    });
    const onlyGit = temporaryFolder();
    symlinkSync(realpathSync("/usr/bin/git"), join(onlyGit, "git"));
    const path = [await packageManager("pnpm"), onlyGit].join(":");
    app.config.environment = { ...app.config.environment, PATH: path };
    expect(await checkSetup(app.config)).toMatchObject([
      { state: "ok", message: expect.stringContaining("pnpm install --frozen-lockfile") },
    ]);
    const without = { ...app.config, environment: { ...app.config.environment, PATH: onlyGit } };
    expect(await checkSetup(without)).toMatchObject([
      { state: "missing", message: expect.stringContaining("pnpm is not in PATH"), fix: "npm install --global pnpm" },
    ]);
    expect(await detectedSetup(app)).toMatchObject({ manager: "pnpm", lockfile: "pnpm-lock.yaml" });
  });
});
