import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { App } from "../src/app.ts";
import type { News } from "../src/crew/record/run-host.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import type { PlanTask, Setup } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { attemptsOf } from "../src/store/queries/attempts.ts";
import { setupsOf } from "../src/store/queries/setups.ts";
import { executed, newRun, type Play, passes, planned, playing, writes } from "./support/crew.ts";
import { greeting, projectWithRegistry } from "./support/packages.ts";
import { long, needs } from "./support/programs.ts";
import { newWorkspace, person, sampledEngines, temporaryFolder } from "./support/workspace.ts";

const npmTest = [{ criterion: "the tests pass", check: { run: ["npm", "test"], exits: 0 } }];
const printing = (text: string) => [
  { criterion: `the test prints ${text}`, check: { run: ["npm", "test"], exits: 0, prints: text } },
];
const task = (number: string, verification: PlanTask["verification"] = npmTest, more: Partial<PlanTask> = {}) =>
  planned(number, { verification, ...more });
const accepting = (worker: Play = writes()) => playing({ worker, qc: passes });

async function runWithSetup(app: App, tasks: PlanTask[], setup: Setup): Promise<string> {
  const plan = { request: "Do it", title: "A run", summary: "", assumptions: [], cites: [], tasks, setup };
  return unwrap(await operations.submit_plan.perform(app, plan, person())).run;
}

const installed = (app: App) => {
  const folder = join(app.config.stateFolder, "setups/made");
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe("dependencies of a run", needs("bubblewrap"), () => {
  test.each(sampledEngines)(
    "W5: npm test is green for workers, checks and verifiers, because npm ci ran once before task 0 (%s)",
    async (engine) => {
      const { app } = await projectWithRegistry({ engine });
      const run = await newRun(app, [task("0"), task("1.1"), task("1.2")]);
      const seen = { tests: [] as unknown[], status: [] as unknown[] };
      const look = async ({ use }: Parameters<Play>[0]) => {
        seen.tests.push((await use("run_command", { run: ["npm", "test"] })).output);
        seen.status.push((await use("run_command", { run: ["git", "status", "--porcelain", "node_modules"] })).output);
      };
      const news: News[] = [];
      const worker: Play = async (scene) => {
        await look(scene);
        await writes()(scene);
      };
      const qc: Play = async (scene) => {
        await look(scene);
        await passes(scene);
      };
      const outcome = await executed(app, run, playing({ worker, qc }), { news });
      expect(outcome).toMatchObject({ state: "completed", reason: null });
      expect(seen.tests).toEqual(Array(6).fill(expect.stringContaining("greeting 1.0.0")));
      expect(seen.status).toEqual(Array(6).fill(""));
      expect(news.filter(({ kind }) => kind.startsWith("setup"))).toMatchObject([
        { kind: "setup-started", title: "npm ci" },
        { kind: "setup-finished", outcome: "installed" },
      ]);
      const shown = unwrap(await operations.show_run.perform(app, { id: run }, person()));
      expect(shown.setups).toMatchObject([
        { commands: [["npm", "ci"]], origin: "package-lock.json", task: null, state: "installed", error: null },
      ]);
      const report = unwrap(await operations.run_report.perform(app, { id: run }, person()));
      expect(report.content).toMatch(/## Setup[\s\S]*npm ci[\s\S]*## Network[\s\S]*setup/);
    },
  );

  test("W5: two runs at once install once, and a third installs nothing", long, async () => {
    const { app, open, home, registry } = await projectWithRegistry();
    const other = await open({ HOME: home });
    const runs = await Promise.all([app, other].map((one) => newRun(one, [task("0")])));
    await Promise.all([executed(app, runs[0] ?? "", accepting()), executed(other, runs[1] ?? "", accepting())]);
    const states = (await Promise.all(runs.map((run) => setupsOf(app.db.read, run)))).flat().map(({ state }) => state);
    expect(states.filter((state) => state === "installed")).toHaveLength(1);
    const tarballs = () => registry.requests.filter(({ url }) => url.endsWith(".tgz")).length;
    const before = tarballs();
    const third = await newRun(app, [task("0")]);
    expect(await executed(app, third, accepting())).toMatchObject({ state: "completed" });
    expect(await setupsOf(app.db.read, third)).toMatchObject([{ state: "reused" }]);
    expect([tarballs(), installed(app).length]).toEqual([before, 1]);
  });

  test("W5, T2: a worker that changes its dependencies changes no other's, and not the cache", async () => {
    const { app } = await projectWithRegistry();
    const poison = `require("fs").writeFileSync("node_modules/greeting/index.js", 'exports.version = "poisoned"')`;
    const worker: Play = async (scene) => {
      if (scene.number === "0") {
        await scene.use("run_command", { run: ["node", "-e", poison] });
        const own = await scene.use("run_command", { run: ["npm", "test"] });
        expect(own.output).toContain("greeting poisoned");
      }
      await writes()(scene);
    };
    const run = await newRun(app, [task("0", printing("greeting 1.0.0")), task("1.1", printing("greeting 1.0.0"))]);
    expect(await executed(app, run, accepting(worker))).toMatchObject({ state: "completed" });
    const again = await newRun(app, [task("0", printing("greeting 1.0.0"))]);
    expect(await executed(app, again, accepting())).toMatchObject({ state: "completed" });
  });

  test(
    "W5: a task that changes the lockfile is verified with the dependencies that it names, and so are the tasks after it",
    long,
    async () => {
      const { app, locked } = await projectWithRegistry();
      const worker: Play = async (scene) => {
        if (scene.number === "1.1")
          for (const [path, content] of Object.entries(await locked({ greeting: "2.0.0" })))
            await scene.use("write_file", { path, content });
        else await scene.use("write_file", { path: `out/${scene.number}.txt`, content: "x\n" });
        await scene.use("submit_output", { output: `made ${scene.number}` });
      };
      const run = await newRun(app, [
        task("0", printing("greeting 1.0.0"), { deliverable: "files" }),
        task("1.1", printing("greeting 2.0.0")),
        task("1.2", printing("greeting 2.0.0"), { depends_on: ["1.1"] }),
      ]);
      expect(await executed(app, run, accepting(worker))).toMatchObject({ state: "completed" });
      const setups = await setupsOf(app.db.read, run);
      expect(setups.map(({ state, task_id }) => [state, task_id === null])).toEqual([
        ["installed", true],
        ["installed", false],
        // Installed again from the accepted work: nothing that an agent wrote is trusted before it is accepted.
        ["installed", true],
      ]);
    },
  );

  test(
    "W5: a deliverable whose dependencies cannot be installed is rejected with what npm said, and corrected",
    long,
    async () => {
      const { app, git } = await projectWithRegistry();
      const worker: Play = async ({ number, retry, told, use }) => {
        if (number === "1.1" && !retry) {
          const content = git("show", "HEAD:package.json").replace('"greeting": "1.0.0"', '"greeting": "2.0.0"');
          await use("write_file", { path: "package.json", content });
        }
        if (number === "1.1" && retry) {
          // The download with the person's logins, which runs no scripts, meets the mistake first.
          expect(told).toContain("npm ci --ignore-scripts exited with code 1");
          await use("write_file", { path: "package.json", content: `${git("show", "HEAD:package.json")}\n` });
        }
        if (number !== "0") await use("write_file", { path: "out.txt", content: "x\n" });
        await use("submit_output", { output: `made ${number}` });
      };
      const run = await newRun(app, [task("0"), task("1.1", printing("greeting 1.0.0"))]);
      const outcome = await executed(app, run, accepting(worker));
      expect(outcome).toMatchObject({ state: "completed" });
      const attempts = (await attemptsOf(app.db.read, { run })).filter(({ attempt }) => attempt > 1);
      expect(attempts).toHaveLength(1);
      // The next worker's checkout tries them once more, and falls back to those of the accepted work.
      const failed = { state: "failed", error: expect.stringContaining("package-lock.json") };
      expect(await setupsOf(app.db.read, run)).toMatchObject([{ state: "installed", error: null }, failed, failed]);
    },
  );

  test("W5: a setup that fails stops the run before its first attempt, says why, and the run goes on once it is mended", async () => {
    const { app, file } = await projectWithRegistry();
    const run = await runWithSetup(app, [task("0", [{ criterion: "it is there" }])], {
      run: [["sh", "-c", "echo 'no such compiler' >&2; exit 3"]],
      inputs: ["package.json"],
    });
    const outcome = await executed(app, run, accepting());
    expect(outcome).toMatchObject({
      state: "stopped",
      reason: expect.stringMatching(/setup failed: sh -c.*exited with code 3:\nno such compiler/s),
    });
    expect(await attemptsOf(app.db.read, { run })).toEqual([]);
    const waiting = unwrap(await operations.inbox.perform(app, {}, person()));
    expect(waiting.runs).toMatchObject([{ id: run, reason: expect.stringContaining("no such compiler") }]);
    const chain = `${file(`runs/${run}/chain-output.md`.replace(".md", ""))}.md`;
    const text = readFileSync(chain, "utf8");
    writeFileSync(chain, text.replace(/## Setup\n\n(- .*\n)+/, "## Setup\n\n- none\n"));
    expect(await executed(app, run, accepting())).toMatchObject({ state: "completed" });
    expect(installed(app)).toEqual([]);
  });

  test("W5: dependencies of a repository that does not ignore them are not delivered", long, async () => {
    const { app, git } = await projectWithRegistry({ files: { ".gitignore": ".scriptorium/\n" } });
    const run = await newRun(app, [task("0"), task("1.1")]);
    const seen: unknown[] = [];
    const worker: Play = async (scene) => {
      await writes()(scene);
      seen.push((await scene.use("run_command", { run: ["git", "status", "--porcelain"] })).output);
      seen.push(await scene.use("list_files", {}));
    };
    expect(await executed(app, run, accepting(worker))).toMatchObject({ state: "completed" });
    expect(git("diff", "--name-only", "HEAD", acceptedBranch(run))).toBe("out/1.1.txt");
    expect(JSON.stringify(seen)).not.toContain("node_modules");
  });

  test("W5: a plan installs with commands of its own, and only what they leave in the folder is there", async () => {
    const { app } = await newWorkspace({ files: { ".gitignore": ".scriptorium/\ndeps/\n", "deps.lock": "one\n" } });
    const setup = {
      run: [["sh", "-c", "mkdir deps; cp deps.lock deps/made; echo x > $HOME/x"]],
      inputs: ["deps.lock"],
    };
    const check = [{ criterion: "it is there", check: { run: ["grep", "one", "deps/made"], exits: 0 } }];
    const run = await runWithSetup(app, [task("0", check)], setup);
    expect(await executed(app, run, accepting())).toMatchObject({ state: "completed" });
    const again = await runWithSetup(app, [task("0", check)], setup);
    await executed(app, again, accepting());
    expect(await setupsOf(app.db.read, again)).toMatchObject([{ state: "reused" }]);
  });

  test(
    "T19, T32, T34, W5: an install script sees no home, no token, no state folder and no other host",
    long,
    async () => {
      const other = createServer((_request, response) => response.end("reached"));
      await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
      onTestFinished(() => void other.close());
      const { port } = other.address() as AddressInfo;
      const script = `
      const fs = require("fs"), http = require("http");
      const attempt = (work) => { try { return String(work()); } catch (error) { return error.code ?? error.message; } };
      const root = process.env.INIT_CWD.split("/.scriptorium/")[0];
      const seen = {
        home: attempt(() => fs.readFileSync(HOME + "/.npmrc", "utf8")),
        database: attempt(() => fs.readFileSync(root + "/.scriptorium/scriptorium.db").length),
        made: attempt(() => fs.readdirSync(root + "/.scriptorium/setups/made")),
        write: attempt(() => fs.writeFileSync("/usr/bin/planted", "x")),
        variables: JSON.stringify(process.env).includes("SECRET"),
      };
      const request = http.get({ host: "127.0.0.1", port: PORT }, () => end("reached"));
      request.on("error", (error) => end(error.code));
      function end(direct) {
        const through = new URL(process.env.http_proxy);
        const asked = http.get({ host: through.hostname, port: through.port, path: "http://elsewhere.invalid/" }, (answer) => {
          fs.writeFileSync("seen.json", JSON.stringify({ ...seen, direct, proxy: answer.statusCode }));
        });
        asked.on("error", (error) => { throw error; });
      }`;
      const curious = (place: string) => ({
        ...greeting("1.0.0", { scripts: { postinstall: "node look.js" } }),
        files: {
          "index.js": "exports.version = '1.0.0';\n",
          "look.js": script.replace("HOME", JSON.stringify(place)).replace("PORT", String(port)),
        },
      });
      // The script has to know where the person's home is; it is made before the registry.
      const home = temporaryFolder();
      writeFileSync(join(home, ".npmrc"), "//registry.invalid/:_authToken=SECRET\n");
      const { app, registry } = await projectWithRegistry({ packages: [curious(home)] });
      const check = [{ criterion: "seen", check: { run: ["cat", "node_modules/greeting/seen.json"], exits: 0 } }];
      const run = await newRun(app, [task("0", check)]);
      let seen: unknown;
      const worker: Play = async (scene) => {
        const shown = await scene.use("run_command", { run: ["cat", "node_modules/greeting/seen.json"] });
        seen = JSON.parse(String(shown.output));
        await writes()(scene);
      };
      expect(await executed(app, run, accepting(worker))).toMatchObject({ state: "completed" });
      expect(seen).toEqual({
        home: "ENOENT",
        database: "ENOENT",
        made: "ENOENT",
        write: "EROFS",
        variables: false,
        direct: "ECONNREFUSED",
        proxy: 403,
      });
      const [setup] = await setupsOf(app.db.read, run);
      expect(setup?.destinations).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ destination: registry.host, allowed: true }),
          expect.objectContaining({ destination: "elsewhere.invalid:80", allowed: false }),
        ]),
      );
    },
  );
});
