import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { findSandbox } from "../agents/sandbox.ts";
import { openApp } from "../app.ts";
import { environment, loadConfig } from "../config/config.ts";
import { executeRun, startRun } from "../crew/execute-operations.ts";
import { unwrap } from "../kernel/result.ts";
import { newRepository } from "../store/git/git.ts";
import { firstCommit, initWorkspace } from "../wiki/init.ts";
import { progress } from "./progress.ts";
import { type Common, localPerson } from "./session.ts";
import { dim, inert, json } from "./text.ts";

export const demoCommand = (common: () => Common) =>
  new Command("demo")
    .description("see a whole run in under a minute, without a key: scripted agents, everything else real")
    .option("--no-open", "open no browser, and end with the run")
    .action(({ open }) => demo(common(), open));

async function demo(options: Common, open: boolean): Promise<void> {
  const say = (text: string) => void (options.json ? undefined : process.stdout.write(`${text}\n`));
  const root = await makeWorkspace(say);
  const server = await startServer(root);
  say(`Watch it at ${server.link}\n`);
  if (open) openBrowser(server.link);

  const { demoAgents, demoRequest } = await import("../crew/demo.ts");
  const agents = demoAgents(open ? 700 : 60);
  const app = await openApp(unwrap(loadConfig(root, environment())), { host: { agents } });
  try {
    const person = await localPerson(app);
    const shown = progress(options, process.stdout);
    app.host.onNews(shown.tell);
    say(`The request: ${demoRequest}`);
    const { run, chain } = unwrap(await startRun.perform(app, { request: demoRequest, brief: false }, person));
    say(`The plan: ${chain}\n`);
    const done = unwrap(await executeRun.perform(app, { id: run }, person));
    shown.end();
    if (options.json) process.stdout.write(`${json({ kind: "summary", root, ...done })}\n`);
    else if (done.report) say(await ending(root, done.report, done.branch));
    if (done.state !== "completed") process.exitCode = 1;
    if (open) await served(server.child);
  } finally {
    server.child.kill("SIGTERM");
    await app.close();
  }
}

async function makeWorkspace(say: (text: string) => void): Promise<string> {
  const env = environment();
  const { writeDemoProject } = await import("../crew/demo.ts");
  const root = join(await mkdtemp(join(tmpdir(), "scriptorium-demo-")), "greeter");
  await mkdir(root);
  say("The agents of this demo are scripted: no model is asked anything, and nothing is paid.");
  say("Plan, worktrees, commands, checks, verdicts, merges and the report are real.");
  say(`Its workspace is ${root}`);
  await newRepository(root, env);
  await writeDemoProject(root);
  unwrap(await initWorkspace(root, "crew", env));
  const sandbox = await findSandbox("bubblewrap", env);
  if (!sandbox.ok) say(dim("bubblewrap is not here, so the demo's own commands run without a sandbox."));
  const crew = { workers: 2, sandbox: sandbox.ok ? "bubblewrap" : "none", read: [dirname(dirname(process.execPath))] };
  await appendFile(join(root, "scriptorium.yaml"), `crew: ${JSON.stringify(crew)}\n`);
  await firstCommit(root, ["."], env);
  return root;
}

type Server = { child: ChildProcess; link: string };

/** Starts `serve` in a process of its own, as users do. */
async function startServer(root: string): Promise<Server> {
  const args = [process.argv[1] ?? "", "serve", "--port", "0", "--json", "--dir", root];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  const { link } = JSON.parse(chunk.toString("utf8").split("\n", 1)[0] ?? "{}") as { link: string };
  return { child, link };
}

/** Waits for Ctrl-C, which the terminal sends to the server too. */
async function served(child: ChildProcess): Promise<void> {
  process.stdout.write("\nThe server stays up. Press Ctrl-C to end.\n");
  const hold = () => undefined;
  process.on("SIGINT", hold);
  await once(child, "close");
  process.off("SIGINT", hold);
}

function openBrowser(link: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [link], { stdio: "ignore", detached: true });
  // Ignored: the link is printed too.
  child.on("error", () => undefined);
  child.unref();
}

async function ending(root: string, report: string, branch: string | null | undefined): Promise<string> {
  const text = inert(await readFile(report, "utf8"));
  const screen = text.split("\n").slice(0, 25).join("\n");
  return `\n${screen}\n…\n\nThe report: ${report}\nThe work: git -C ${root} log --graph ${branch}`;
}
