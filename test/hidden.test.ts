import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, onTestFinished, test } from "vitest";
import { commandNames, loadCommand } from "../src/cli/commands.ts";
import { openLog } from "../src/http/open-log.ts";
import { splitHidden } from "../src/kernel/hidden.ts";
import { scriptorium, start } from "./support/commands.ts";
import { payload, poisonedWorkspace } from "./support/hidden.ts";
import { newWorkspace, sampledEngines } from "./support/workspace.ts";

/** Commands that serve, change the machine, or wait for someone: they print no stored text, or other tests run them. */
const others = [
  "init connect remove serve mcp hook demo plan execute work completion",
  "source watch,model install,graph import,run resume",
];
const skipped = new Set(others.flatMap((list, at) => list.split(at === 0 ? " " : ",")));

type Seed = Awaited<ReturnType<typeof poisonedWorkspace>>;

/** Arguments of the commands that need some; a command that is not listed runs without. */
const argumentsOf = ({ topic, proposal, task, run }: Seed): Record<string, string[]> => ({
  "entry read": ["vision"],
  "entry history": ["vision", "--diff"],
  "entry commit": ["vision", "--version", "1"],
  "entry append": ["decisions", `more ${payload}`],
  search: ["kingfisher"],
  "graph search": ["kingfisher"],
  "graph query": ["--type", "bird"],
  "graph subgraph": ["bird:k"],
  "graph backlinks": ["bird:k"],
  "graph path": ["bird:k", "entry:vision"],
  "source read": ["notes.txt"],
  "source add": [`/nowhere/${payload}`],
  "topic open": ["docs/page.md", "--message", `new ${payload}`],
  "topic show": [topic],
  "topic reply": [topic, "--message", `again ${payload}`],
  "topic edit": [topic, "1", "--message", `edited ${payload}`],
  "topic reanchor": [topic, "--quote", "A passage"],
  "topic resolve": [topic],
  "topic reopen": [topic],
  "proposal show": [proposal],
  "proposal approve": [`${proposal}${payload}`],
  "proposal reject": [`${proposal}${payload}`, "--note", payload],
  "proposal comment": [proposal, "--message", `one more ${payload}`],
  "proposal revise": [proposal, "--message", `other ${payload}`],
  "run show": [run],
  "run report": [run],
  "run usage": [run],
  "run answer": [`q${payload}`, payload],
  "run replan": [`${run}${payload}`],
  "run rerun": [run, "--from", payload],
  "run merge": [run, "--into", payload],
  "run pr": [run, "--remote", payload],
  "task take": [`${task}${payload}`],
  "task hand-back": [task, "--note", payload],
  "task show": [task],
  "task add": [`Another ${payload}`],
  "task claim": ["--agent", `me ${payload}`],
  "task release": [task],
  "task limit": [run, "3"],
  "task retry": [`${task}${payload}`],
  "task overturn": [`${task}${payload}`, "--reason", payload],
  "task cancel": [`${task}${payload}`],
  "job show": ["job1"],
  "job start": ["--topic", `${topic}${payload}`],
  "job cancel": ["job1"],
  "perspective personas": ["docs/page.md"],
  "perspective show": ["docs/page.md", `nobody${payload}`],
  "perspective refresh": ["docs/page.md", `nobody${payload}`],
  "token create": ["--person", `New ${payload}`],
  "token revoke": [`laptop ${payload}`],
  "user add": [`New ${payload}`],
  "user remove": [`Eve ${payload}`],
  revert: ["--run", `r${payload}`],
  cancel: [run],
});

/** S11 names these; they show the payload, so the test is not one of empty answers. */
const mustShow =
  "topic show,topic list,task list,task show,search,source list,user list,token list,entry list,entry read,entry history,proposal list,proposal show,run list,run show,job show,graph search".split(
    ",",
  );

async function leaves(): Promise<string[]> {
  const found: string[] = [];
  const walk = (command: Command, path: string) => {
    if (command.commands.length === 0) found.push(path);
    for (const child of command.commands) walk(child, `${path} ${child.name()}`);
  };
  for (const name of commandNames) walk(await loadCommand(name, () => ({})), name);
  return found.filter((path) => !skipped.has(path));
}

const hiddenIn = (text: string) => splitHidden(text).filter(({ hidden }) => hidden);

describe.each(sampledEngines)("S11: text that others wrote, in a terminal (%s)", (engine) => {
  test("S11, T35, T36: no command prints a hidden character or a control sequence; JSON has it escaped and exact", async () => {
    const seed = await poisonedWorkspace(engine);
    const given = argumentsOf(seed);
    const spelled: string[] = [];
    const exact: string[] = [];
    for (const command of await leaves()) {
      const args = [...command.split(" "), ...(given[command] ?? [])];
      for (const json of [[], ["--json"]]) {
        const { stdout, stderr } = await scriptorium([...args, ...json], { cwd: seed.root });
        expect({ command, hidden: hiddenIn(stdout + stderr), cr: /\r/.test(stdout + stderr) }).toEqual({
          command,
          hidden: [],
          cr: false,
        });
        if (json.length === 0 && stdout.includes("[U+202E U+2066 U+200B U+E0041 U+001B]")) spelled.push(command);
        if (json.length > 0 && stdout !== "")
          for (const line of stdout.trim().split("\n"))
            if (textsIn(JSON.parse(line)).some((text) => text.includes(payload))) exact.push(command);
      }
    }
    expect(mustShow.filter((command) => !spelled.includes(command))).toEqual([]);
    expect(mustShow.filter((command) => !exact.includes(command))).toEqual([]);
  });
});

test("S11, T36: the announcement of the server spells out hidden characters in the name of the workspace", async () => {
  const { root } = await newWorkspace();
  const file = join(root, "scriptorium.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("name: Test", "name: Team \u202e\u200bx"));
  const child = start("scriptorium.js", ["serve", "--port", "0"], root);
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdout?.on("data", (chunk) => (said += chunk));
  await expect.poll(() => said).toContain("Ctrl-C");
  expect(hiddenIn(said)).toEqual([]);
  expect(said).toContain("Team [U+202E U+200B]x is running");
});

test("S11, T36: lines of the server's log are exact JSON in which every character is visible", () => {
  let lines = "";
  const out = { write: (line: string) => (lines += line) };
  openLog("warn", out).warn({ error: `it broke ${payload}` }, "thing-failed");
  expect(hiddenIn(lines)).toEqual([]);
  expect(JSON.parse(lines)).toMatchObject({ msg: "thing-failed", error: `it broke ${payload}` });
});

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, part]) => [key, ...textsIn(part)]);
}
