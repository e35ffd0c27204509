import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Setup } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { setupsOf } from "../src/store/queries/setups.ts";
import { serve, start } from "./support/commands.ts";
import { executed, newRun, type Play, passes, planned, playing, writes } from "./support/crew.ts";
import { writeFiles } from "./support/files.ts";
import { packageManager } from "./support/package-managers.ts";
import { greeting, type Login, projectWithRegistry } from "./support/packages.ts";
import { needs } from "./support/programs.ts";
import { gitIn, person, temporaryFolder } from "./support/workspace.ts";

const token = "npm-7f2c-SECRET-OF-THE-REGISTRY";
const scoped = "@acme/greeting";
const basic = Buffer.from(`ada:${token}`).toString("base64");
const bearer = (files: Login["files"]): Login => ({ header: `Bearer ${token}`, files });

const crew = (worker: Play = writes()) => playing({ worker, qc: passes });
const check = [
  { criterion: "the test passes", check: { run: ["node", "test.js"], exits: 0, prints: "greeting 1.0.0" } },
];

/** Everything that the workspace stores: database, logs, reports, cache. */
function stored(root: string): string[] {
  try {
    const found = execFileSync("grep", ["-rlaF", "-e", token, "-e", basic, root], { encoding: "utf8" });
    return found.split("\n").filter((line) => line !== "");
  } catch {
    return [];
  }
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

/** Files with which a person is signed in elsewhere. */
const fullHome = {
  ".ssh/id_ed25519": "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRET\n",
  ".aws/credentials": "[default]\naws_secret_access_key = SECRET\n",
  ".config/gh/hosts.yml": "github.example.org:\n  oauth_token: SECRET\n",
  ".docker/config.json": '{"auths":{"r.example.org":{"auth":"SECRET"}}}',
  ".netrc": "machine example.org login ada password SECRET\n",
  ".git-credentials": "https://ada:SECRET@example.org\n",
  ".bash_history": "export TOKEN=SECRET\n",
  ".claude/.credentials.json": '{"token":"SECRET"}',
  ".local/share/keyrings/login.keyring": "SECRET",
};

/** An install script that looks for the token everywhere that it can read, and at the person's home. */
const curious = (home: string) => ({
  ...greeting("1.0.0", { scripts: { preinstall: "node look.js before", postinstall: "node look.js after" } }, scoped),
  files: {
    "index.js": "exports.version = '1.0.0';\n",
    "look.js": `
      const fs = require("fs"), path = require("path"), os = require("os");
      const { execSync } = require("child_process");
      const parts = ${JSON.stringify([token.slice(0, 8), token.slice(8)])};
      const found = [];
      const look = (place, text) => { if (text.includes(parts.join("")) || text.includes(Buffer.from("ada:" + parts.join("")).toString("base64"))) found.push(place); };
      const walk = (folder, depth) => {
        let items = [];
        try { items = fs.readdirSync(folder, { withFileTypes: true }); } catch { return; }
        for (const item of items) {
          const file = path.join(folder, item.name);
          if (item.isDirectory() && depth > 0) walk(file, depth - 1);
          else if (item.isFile()) try { look(file, fs.readFileSync(file, "latin1")); } catch {}
        }
      };
      look("variables", JSON.stringify(process.env));
      for (const pid of fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)))
        for (const name of ["environ", "cmdline"]) try { look(pid + " " + name, fs.readFileSync("/proc/" + pid + "/" + name, "latin1")); } catch {}
      for (const place of [os.homedir(), process.env.npm_config_cache, path.dirname(process.env.npm_config_cache), path.dirname(path.dirname(process.env.npm_config_cache)), process.env.INIT_CWD, "/tmp"]) walk(place, 12);
      look("npm config", String(execSync("npm config list --json 2>/dev/null || true")));
      let home = [];
      try { home = fs.readdirSync(${JSON.stringify(home)}); } catch (error) { home = error.code; }
      const inside = ${JSON.stringify(Object.keys(fullHome))}.filter((name) => fs.existsSync(path.join(${JSON.stringify(home)}, name)) || fs.existsSync(path.join(os.homedir(), name)));
      fs.writeFileSync("seen-" + process.argv[2] + ".json", JSON.stringify({ found, home, inside }));
    `,
  },
});

describe("registries that ask for a login", needs("bubblewrap"), () => {
  test("T19, T34, W5: npm installs with the token of the person's home, and neither install scripts, workers, logs, cache nor the record see it", async () => {
    const home = temporaryFolder();
    writeFiles(home, fullHome);
    const { app, root, registry } = await projectWithRegistry({
      packages: [curious(home)],
      dependencies: { [scoped]: "1.0.0" },
      home,
      login: bearer(({ url, host }) => ({
        ".npmrc": `@acme:registry=${url}\nregistry=${url}\n//${host}/:_authToken=${token}\n`,
      })),
    });
    const run = await newRun(app, [planned("0", { verification: check }), planned("1.1")]);
    const seen: unknown[] = [];
    const worker: Play = async (scene) => {
      for (const name of ["seen-before.json", "seen-after.json"]) {
        const shown = await scene.use("run_command", { run: ["cat", `node_modules/${scoped}/${name}`] });
        seen.push(JSON.parse(String(shown.output)));
      }
      const printed = await scene.use("run_command", { run: ["sh", "-c", "env; cat ~/.npmrc; npm config list"] });
      expect(String(printed.output)).not.toContain(token);
      await writes()(scene);
    };
    const outcome = await executed(app, run, crew(worker));
    expect([outcome.reason, outcome.state]).toEqual([null, "completed"]);
    for (const one of seen) expect(one).toEqual({ found: [], home: "ENOENT", inside: [] });
    expect(seen.length).toBeGreaterThan(1);
    expect(registry.requests.filter(({ url }) => url.endsWith(".tgz"))).toMatchObject([
      { authorization: `Bearer ${token}` },
    ]);
    await app.close();
    expect(stored(root)).toEqual([]);
    expect(readdirSync(join(root, ".scriptorium/setups/scratch"))).toEqual([]);
  });

  const settings = ({ url, host }: { url: string; host: string }, line: string) => ({
    ".npmrc": `registry=${url}\n@acme:registry=${url}\n${line.replace("HOST", host)}\n`,
  });
  test.each([
    {
      name: "npm with _auth",
      login: { header: `Basic ${basic}`, files: (at: Place) => settings(at, `//HOST/:_auth=${basic}`) },
    },
    {
      name: "npm with a token that a variable has",
      login: bearer((at) => settings(at, "//HOST/:_authToken=${ACME_TOKEN}")),
    },
    {
      name: "pnpm",
      manager: "pnpm" as const,
      lock: { file: "pnpm-lock.yaml", command: ["pnpm", "install", "--lockfile-only"] },
      login: bearer((at) => settings(at, `//HOST/:_authToken=${token}`)),
    },
    {
      name: "yarn 1",
      manager: "yarn" as const,
      lock: { file: "yarn.lock", command: ["yarn", "install", "--ignore-scripts"] },
      login: bearer((at) => settings(at, `//HOST/:_authToken=${token}\n//HOST/:always-auth=true`)),
    },
    {
      name: "yarn 4",
      manager: "berry" as const,
      lock: {
        file: "yarn.lock",
        command: ["yarn", "install", "--mode=update-lockfile"],
        files: { ".yarnrc.yml": "nodeLinker: node-modules\nunsafeHttpWhitelist: [127.0.0.1]\n" },
      },
      login: bearer(({ url }) => ({
        ".yarnrc.yml": `unsafeHttpWhitelist: [127.0.0.1]\nnpmScopes:\n  acme:\n    npmRegistryServer: "${url.replace(/\/$/, "")}"\n    npmAlwaysAuth: true\n    npmAuthToken: "${token}"\n`,
      })),
    },
  ])("W5: $name", async ({ manager, lock, login }) => {
    const path = manager === undefined ? "" : await packageManager(manager);
    const made = await projectWithRegistry({
      packages: [greeting("1.0.0", { scripts: { postinstall: "node -e 0" } }, scoped)],
      dependencies: { [scoped]: "1.0.0" },
      login,
      ...(lock ? { lock: { ...lock, path } } : {}),
      variables: { ACME_TOKEN: token },
    });
    const { app, root, registry } = made;
    const run = await newRun(app, [planned("0", { verification: check })]);
    const outcome = await executed(app, run, crew());
    expect([outcome.reason, outcome.state]).toEqual([null, "completed"]);
    expect(registry.requests.some(({ url }) => url.endsWith(".tgz"))).toBe(true);
    await app.close();
    expect(stored(root)).toEqual([]);
  });

  test.each([
    {
      name: "a plan's own commands",
      setup: { run: [["npm", "ci"]], inputs: ["package-lock.json"] },
      why: "the plan declares the commands, which could be anything",
    },
    {
      name: "a repository with a program for its package manager",
      files: { ".yarn/plugins/own.cjs": "module.exports = {};\n" },
      why: "the package manager would run a program of the repository: .yarn/plugins/own.cjs",
    },
  ] as Withheld[])("T19: $name get no login, and the reason says so", async ({ setup, files = {}, why }) => {
    const { app, registry } = await projectWithRegistry({
      packages: [greeting("1.0.0", {}, scoped)],
      dependencies: { [scoped]: "1.0.0" },
      files,
      login: bearer((at) => settings(at, `//HOST/:_authToken=${token}`)),
    });
    const before = registry.requests.filter(({ authorization }) => authorization).length;
    const plan = { request: "Do it", title: "A run", tasks: [planned("0")], ...(setup ? { setup } : {}) };
    const submitted = await operations.submit_plan.perform(app, plan, person());
    const run = submitted.ok ? submitted.value.run : "";
    const outcome = await executed(app, run, crew());
    expect(outcome).toMatchObject({ state: "stopped", reason: expect.stringContaining(why) });
    expect(registry.requests.filter(({ authorization }) => authorization)).toHaveLength(before);
  });

  test.each(["install", "download"])(
    "T19, W5: what a setup left whose process was killed in its %s is deleted at the next start, logins first of all",
    async (phase) => {
      const script =
        "require('fs').writeFileSync(process.env.npm_config_cache + '/../begun', ''); setTimeout(() => 0, 60_000)";
      const stuck = phase === "install" ? { scripts: { postinstall: `node -e "${script}"` } } : {};
      const { app, root, registry, env, file } = await projectWithRegistry({
        packages: [greeting("1.0.0", stuck, scoped)],
        dependencies: { [scoped]: "1.0.0" },
        config: "crew: { agents: { all: { runner: command, command: [node] } } }\n",
        login: bearer((at) => settings(at, `//HOST/:_authToken=${token}`)),
      });
      const run = await newRun(app, [planned("0")]);
      await app.close();
      const setups = file(".scriptorium/setups");
      const left = () => ["scratch", "drafts", "checkouts"].flatMap((name) => namesIn(join(setups, name)));
      const isThere = () =>
        phase === "install"
          ? left().some((name) => existsSync(join(setups, "scratch", name, "begun")))
          : left().some((name) => name.endsWith("-logins") && existsSync(join(setups, "scratch", name, "npmrc")));
      if (phase === "download") registry.hold();
      const child = start("scriptorium.js", ["execute", run, "--json"], root, env);
      await expect.poll(isThere, { timeout: 60_000, interval: 20 }).toBe(true);
      child.kill("SIGKILL");
      await new Promise((done) => child.once("close", done));
      registry.release();
      expect(left()).not.toEqual([]);

      const served = await serve(root, env);
      await served.stop();
      expect(left()).toEqual([]);
      expect(stored(root)).toEqual([]);
      expect(gitIn(root)("worktree", "list").split("\n")).toHaveLength(1);
    },
  );

  test("T19: a deliverable that changes .npmrc is installed without the login", async () => {
    const { app, locked, registry } = await projectWithRegistry({
      packages: [greeting("1.0.0", {}, scoped), greeting("2.0.0", {}, scoped)],
      dependencies: { [scoped]: "1.0.0" },
      login: bearer((at) => settings(at, `//HOST/:_authToken=${token}`)),
    });
    const changed = { ...(await locked({ [scoped]: "2.0.0" })), ".npmrc": "script-shell=./steal\n" };
    const worker: Play = async ({ number, use }) => {
      if (number === "1.1") {
        for (const [path, content] of Object.entries(changed)) await use("write_file", { path, content });
      }
      await use("submit_output", { output: `made ${number}` });
    };
    const run = await newRun(app, [planned("0"), planned("1.1", { max_retries: 0, verification: check })]);
    const first = await executed(app, run, crew(worker));
    expect(first.reason).toContain("1.1");
    // Held for a person first; allowed, it is still not a commit of theirs.
    const [held] = unwrap(await operations.inbox.perform(app, {}, person())).files;
    unwrap(await operations.allow_files.perform(app, { task: held?.task ?? "", hash: held?.hash ?? "" }, person()));
    await executed(app, run, crew(worker));
    const failed = (await setupsOf(app.db.read, run)).find(({ state }) => state === "failed");
    expect(failed).toMatchObject({
      state: "failed",
      error: expect.stringContaining(".npmrc is not as in your last commit"),
    });
    const asked = registry.requests.filter(({ url }) => url.endsWith("2.0.0.tgz"));
    expect(asked.map(({ authorization }) => authorization)).toEqual(asked.map(() => undefined));
  });
});

type Place = { url: string; host: string };

type Withheld = { name: string; setup?: Setup; files?: Record<string, string>; why: string };
