import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { findSandbox } from "../agents/sandbox.ts";
import { openApp } from "../app.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { environment } from "../config/environment.ts";
import { executeRun, startRun } from "../crew/execute-operations.ts";
import { silent } from "../kernel/log.ts";
import { unwrap } from "../kernel/result.ts";
import { catchStopSignals, type StopSignals } from "../kernel/stop-signals.ts";
import { newRepository } from "../store/git/git.ts";
import { firstCommit, initWorkspace } from "../wiki/init.ts";
import { progress } from "./progress.ts";
import { type Common, gitPerson } from "./session.ts";
import { writeOut } from "./shell.ts";
import { dim, inert, json } from "./text.ts";

type Options = Common & { open: boolean; keep: boolean };

export const demoCommand = (common: () => Common) =>
  new Command("demo")
    .description("run a demo crew in a temporary repository: scripted agents, no API key, no cost")
    .option("--open", "open the browser and keep the server running until Ctrl-C (default on a terminal)")
    .option("--no-open", "do not open a browser; exit when the run has ended")
    .option("--keep", "do not delete the demo workspace at the end")
    .action(({ open, keep = false }) => {
      const isWatched = process.stdout.isTTY === true && !common().json;
      return demo({ ...common(), open: open ?? isWatched, keep });
    });

async function demo(options: Options): Promise<void> {
  const say = (text: string) => void (options.json ? undefined : writeOut(`${text}\n`));
  const stop = catchStopSignals();
  const folder = await mkdtemp(join(tmpdir(), "scriptorium-demo-"));
  // Also when a second signal, or an error outside of this function, ends the process.
  const removeFolder = () =>
    options.keep ? undefined : rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once("exit", removeFolder);
  try {
    say("The agents in this demo are scripted: no model is called, nothing is charged.");
    say("Everything else is real: plan, git worktrees, commands, checks, verdicts, merges, report.");
    const root = await makeWorkspace(join(folder, "greeter"), say);
    if (!stop.signal.aborted) await runCrew(root, options, stop, say);
  } catch (error) {
    // What fails after a stop signal fails because of it.
    if (!stop.signal.aborted) throw error;
  } finally {
    if (options.keep) say(`\nThe workspace is kept in ${join(folder, "greeter")}`);
    removeFolder();
    process.off("exit", removeFolder);
    stop.end();
  }
}

async function makeWorkspace(root: string, say: (text: string) => void): Promise<string> {
  const env = environment();
  const { writeDemoProject } = await import("../crew/demo.ts");
  await mkdir(root);
  say(`Workspace: ${root}`);
  await newRepository(root, env);
  await writeDemoProject(root);
  unwrap(await initWorkspace(root, "crew", env));
  const sandbox = await findSandbox("auto", env);
  if (!sandbox.ok) say(dim("No sandbox is available: the demo's own commands run without one."));
  const crew = { workers: 2, sandbox: sandbox.ok ? "auto" : "none", read: [dirname(dirname(process.execPath))] };
  await appendFile(join(root, "scriptorium.yaml"), `crew: ${JSON.stringify(crew)}\n`);
  await firstCommit(root, ["."], env);
  return root;
}

async function runCrew(root: string, options: Options, stop: StopSignals, say: (text: string) => void): Promise<void> {
  const { demoAgents, demoRequest } = await import("../crew/demo.ts");
  const config = unwrap(loadConfig(root, environment()));
  const server = await openDemoServer(config);
  const app = await openApp(config, { host: { agents: demoAgents(options.open ? 700 : 60) } });
  const stopRun = () => void app.host.stop();
  stop.signal.addEventListener("abort", stopRun);
  try {
    say(`Watch it in your browser: ${server.link}\n`);
    if (options.open) openBrowser(server.link);
    const person = await gitPerson(app);
    const shown = progress(options, process.stdout);
    app.host.onNews(shown.tell);
    say(`Request: ${demoRequest}`);
    const planned = await startRun.perform(app, { request: demoRequest, brief: false }, person);
    if (stop.signal.aborted) return;
    const { run, chain } = unwrap(planned);
    say(`Plan: ${chain}\n`);
    const done = unwrap(await executeRun.perform(app, { id: run }, person));
    shown.end();
    if (stop.signal.aborted) return;
    if (options.json) writeOut(`${json({ kind: "summary", root, kept: options.keep, ...done })}\n`);
    else if (done.report) say(await ending(root, done.report, done.branch, options));
    if (done.state !== "completed") process.exitCode = 1;
    if (options.open) await keepServing(stop, say);
  } finally {
    stop.signal.removeEventListener("abort", stopRun);
    await app.close();
    await server.close();
  }
}

/** In this process, so that it cannot outlive the demo, however that ends. */
async function openDemoServer(config: Config) {
  const { openServer } = await import("../http/serve.ts");
  return openServer(config, silent, 0);
}

async function keepServing(stop: StopSignals, say: (text: string) => void): Promise<void> {
  say("\nThe server is still running. Press Ctrl-C to stop it.");
  if (!stop.signal.aborted) await new Promise((done) => stop.signal.addEventListener("abort", done, { once: true }));
  stop.isExpected();
}

function openBrowser(link: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [link], { stdio: "ignore", detached: true });
  // Ignored: the link is printed too.
  child.on("error", () => undefined);
  child.unref();
}

async function ending(
  root: string,
  report: string,
  branch: string | null | undefined,
  { keep, open }: Options,
): Promise<string> {
  const screen = inert(await readFile(report, "utf8"))
    .split("\n")
    .slice(0, 25)
    .join("\n");
  const lasting = keep ? "" : ` (deleted ${open ? "when you stop the demo" : "now"}; --keep keeps it)`;
  const result = keep || open ? `\nThe result: git -C ${root} log --graph ${branch}` : "";
  return `\n${screen}\n…\n\nThe report: ${report}${lasting}${result}`;
}
