import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { acceptedBranch } from "../src/crew/rules/branches.ts";
import { unwrap } from "../src/kernel/result.ts";
import { setupsOf } from "../src/store/queries/setups.ts";
import { initWorkspace } from "../src/wiki/init.ts";
import { executed, newRun, type Play, passes, planned, playing } from "./support/crew.ts";
import { needs, skippedFor } from "./support/programs.ts";
import { gitIn, personsNetwork, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const repository = process.env.SCRIPTORIUM_PUBLIC_REPOSITORY;
const command = (process.env.SCRIPTORIUM_PUBLIC_TEST ?? "npm test").split(" ");
const why = "SCRIPTORIUM_PUBLIC_REPOSITORY names no repository; set it to the path of a clone with a lockfile";
const options = { timeout: 900_000, ...(repository ? needs("bubblewrap") : skippedFor(why)) };

test(
  "W5: a run on a public repository installs its dependencies, and its own tests are green for every task",
  options,
  async () => {
    const root = temporaryFolder();
    execFileSync("git", ["clone", "--quiet", "--no-hardlinks", repository ?? "", root]);
    const git = gitIn(root);
    git("config", "user.name", "Ada");
    git("config", "user.email", "ada@example.org");
    unwrap(await initWorkspace(root, "crew", testEnvironment()));
    git("add", "-A");
    git("commit", "--quiet", "--allow-empty", "-m", "Add a workspace");
    const env = { ...testEnvironment(), ...personsNetwork() };
    const app = await openApp(unwrap(loadConfig(root, env)));
    const source = git("ls-files", "src/*.ts").split("\n")[0] ?? "";
    const isGreen = [{ criterion: "the tests pass", check: { run: command, exits: 0 } }];
    const files = { verification: isGreen, deliverable: "files" as const };
    const run = await newRun(app, [
      planned("0", { verification: isGreen }),
      planned("1.1", { ...files, title: `Describe ${source}`, files: [source] }),
      planned("1.2", { ...files, title: "Add a note to the README", files: ["README.md"] }),
      planned("1.3", { ...files, title: "Add a module", depends_on: ["1.1", "1.2"] }),
    ]);
    const append = async (use: Parameters<Play>[0]["use"], path: string, text: string) =>
      use("write_file", { path, content: `${readFileSync(join(root, path), "utf8")}${text}` });
    const seconds: number[] = [];
    const worker: Play = async ({ number, use }) => {
      if (number === "1.1") await append(use, source, "\n// A run changed this file.\n");
      if (number === "1.2") await append(use, "README.md", "\nA run changed this file.\n");
      if (number === "1.3")
        await use("write_file", { path: "src/added-by-a-run.ts", content: "export const addedByARun = true;\n" });
      const ran = await use("run_command", { run: command });
      seconds.push(Number(ran.seconds));
      await use("submit_output", { output: `${ran.ended}\n${String(ran.output).slice(-500)}` });
    };
    const began = Date.now();
    const outcome = await executed(app, run, playing({ worker, qc: passes }), { workers: 2 });
    const setups = await setupsOf(app.db.read, run);
    const figures = setups.map(({ commands, state, bytes, files, started_at, ended_at, destinations, error }) => ({
      ...{ commands, state, bytes, files, error, destinations },
      seconds: (Date.parse(ended_at ?? "") - Date.parse(started_at)) / 1000,
    }));
    const whole = {
      state: outcome.state,
      reason: outcome.reason,
      tasks: outcome.tasks,
      seconds: (Date.now() - began) / 1000,
    };
    process.stderr.write(`${JSON.stringify({ ...whole, tests: seconds, setups: figures }, null, 1)}\n`);
    expect(outcome).toMatchObject({ state: "completed", tasks: { all: 4, completed: 4 } });
    expect(setups).toMatchObject([{ state: "installed" }]);
    const changed = git("diff", "--name-only", "HEAD", acceptedBranch(run)).split("\n");
    expect(changed).toEqual([source, "README.md", "src/added-by-a-run.ts"].sort());
    await app.close();
  },
);
