import { constants } from "node:fs";
import * as z from "zod";
import { runBounded } from "../../agents/bounded.ts";
import type { Sandbox } from "../../agents/sandbox/access.ts";
import type { SandboxLimits } from "../../config/sandbox.ts";
import { type Operation, operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { listInside, openInside } from "../../store/disk/pinned.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { filePath } from "../rules/plan.ts";

/** The folder an agent works in, and its permissions there. */
export type Desk = {
  /** A function creates the folder on first use: many agents never open it. */
  folder: string | (() => Promise<string>);
  /** False for a verifier, which must not change what it judges. */
  write: boolean;
  sandbox: Sandbox;
  read?: readonly string[];
  limits: SandboxLimits;
  env: Record<string, string>;
  run: string;
  commandMs: number;
  signal: AbortSignal;
};

export const folderOf = async ({ folder }: Pick<Desk, "folder">) => (typeof folder === "string" ? folder : folder());

const largest = 2 * 1024 * 1024;
const longestLine = 400;
const mostFiles = 2000;
const mostHits = 100;

const agents = ["agent"] as const;
const path = filePath.describe("A path in your folder, such as src/main.ts");

/**
 * Tools for one folder. Agents that are programs with tools of their own also write and run commands only
 * through these, so that each call is counted, recorded and sandboxed.
 */
export function deskTools(desk: Desk): Operation<CrewApp>[] {
  const reading = [readTool(desk), listTool(desk), searchTool(desk)];
  return desk.write ? [...reading, writeTool(desk), editTool(desk), runTool(desk)] : reading;
}

const readTool = (desk: Desk) =>
  operation({
    name: "read_file",
    summary: "Read a file in your folder.",
    guidance:
      "Lines count from 1. `of` is the number of lines in the file: read longer files in parts with `from` and `lines`.",
    effect: "reads",
    reads: [],
    callers: agents,
    group: "crew",
    input: z.object({
      path,
      from: z.int().min(1).default(1).describe("First line"),
      lines: z.int().min(1).max(2000).default(400).describe("Number of lines"),
    }),
    output: z.object({ content: z.string(), from: z.int(), of: z.int() }),
    async run(_app, { path, from, lines }) {
      const text = await readWithin(await folderOf(desk), path);
      if (!text.ok) return text;
      const all = text.value.split("\n");
      return ok({ content: all.slice(from - 1, from - 1 + lines).join("\n"), from, of: all.length });
    },
  });

const listTool = (desk: Desk) =>
  operation({
    name: "list_files",
    summary: "List the files of your folder.",
    guidance: "Paths are relative to your folder; .git and node_modules are left out. Narrow it with `under`.",
    effect: "reads",
    reads: [],
    callers: agents,
    group: "crew",
    input: z.object({ under: path.optional().describe("Only files under this folder") }),
    output: z.object({ files: z.array(z.string()), more: z.boolean() }),
    async run(_app, { under }) {
      const files = await filesOf(await folderOf(desk), under);
      return ok({ files: files.slice(0, mostFiles), more: files.length > mostFiles });
    },
  });

const searchTool = (desk: Desk) =>
  operation({
    name: "search_files",
    summary: "Find lines that contain a text in the files of your folder.",
    guidance: "The text is matched literally, not as a pattern. Returns at most 100 lines with path and line number.",
    effect: "reads",
    reads: [],
    callers: agents,
    group: "crew",
    input: z.object({
      text: z.string().min(1).max(500).describe("The text to find"),
      under: path.optional().describe("Only files under this folder"),
    }),
    output: z.object({ hits: z.array(z.object({ path: z.string(), line: z.int(), text: z.string() })) }),
    async run(_app, { text, under }) {
      const hits: { path: string; line: number; text: string }[] = [];
      for (const file of await filesOf(await folderOf(desk), under)) {
        const content = await readWithin(await folderOf(desk), file);
        if (!content.ok || !content.value.includes(text)) continue;
        for (const [i, line] of content.value.split("\n").entries()) {
          if (line.includes(text)) hits.push({ path: file, line: i + 1, text: line.slice(0, longestLine) });
          if (hits.length === mostHits) return ok({ hits });
        }
      }
      return ok({ hits });
    },
  });

const writeTool = (desk: Desk) =>
  operation({
    name: "write_file",
    summary: "Create or replace a file in your folder.",
    guidance: "Missing folders are created. To change a part of a file use edit_file.",
    effect: "writes",
    touches: [],
    callers: agents,
    group: "crew",
    input: z.object({ path, content: z.string().max(largest).describe("The entire content of the file") }),
    output: z.object({ path: z.string(), bytes: z.int() }),
    async run(_app, { path, content }) {
      const written = await writeWithin(await folderOf(desk), path, content);
      return written.ok ? ok({ path, bytes: Buffer.byteLength(content) }) : written;
    },
  });

const editTool = (desk: Desk) =>
  operation({
    name: "edit_file",
    summary: "Replace one passage of a file.",
    guidance:
      "`old` must occur in the file exactly once, including spaces and line breaks; include enough lines to make it unique.",
    effect: "writes",
    touches: [],
    callers: agents,
    group: "crew",
    input: z.object({
      path,
      old: z.string().min(1).max(largest).describe("The passage, exactly as in the file"),
      new: z.string().max(largest).describe("Its replacement"),
    }),
    output: z.object({ path: z.string(), line: z.int() }),
    async run(_app, { path, old, new: fresh }) {
      const text = await readWithin(await folderOf(desk), path);
      if (!text.ok) return text;
      const at = text.value.indexOf(old);
      if (at === -1) return refuse("not_found", `the passage is not in ${path}; read the file and copy it exactly`);
      if (text.value.indexOf(old, at + 1) !== -1) {
        return refuse("conflict", `the passage occurs more than once in ${path}; include more lines around it`);
      }
      const changed = text.value.slice(0, at) + fresh + text.value.slice(at + old.length);
      const written = await writeWithin(await folderOf(desk), path, changed);
      if (!written.ok) return written;
      return ok({ path, line: text.value.slice(0, at).split("\n").length });
    },
  });

const runTool = (desk: Desk) =>
  operation({
    name: "run_command",
    summary: "Run a program in your folder and return its output.",
    guidance:
      'No shell: for pipes use ["sh", "-c", "…"]. The sandbox has no network and only your folder and the installed programs.',
    effect: "writes",
    touches: [],
    callers: agents,
    group: "crew",
    input: z.object({
      run: z.array(z.string().max(20_000)).min(1).max(200).describe("Program and arguments"),
    }),
    output: z.object({ exit: z.int().nullable(), output: z.string(), ended: z.string() }),
    async run(_app, { run }) {
      const { read = [], limits, env } = desk;
      const place = { folder: await folderOf(desk), write: true, read, limits, env };
      const ran = await runBounded(desk.sandbox, run as [string, ...string[]], place, {
        run: desk.run,
        wallMs: desk.commandMs,
        signal: desk.signal,
      });
      const ended = ran.ended === "exit" ? "exit" : (ran.error ?? ran.ended);
      return ok({ exit: ran.exitCode, output: ran.output, ended });
    },
  });

/** Follows no link: a program at the same desk could create one while the file is read or written (T13). */
export async function readWithin(folder: string, path: string): Promise<Result<string>> {
  const file = await openInside(folder, path, constants.O_RDONLY);
  if (!file.ok) return file;
  try {
    const { size } = await file.value.stat();
    if (size > largest) return refuse("refused", `${path} has ${size} bytes; the maximum is ${largest}`);
    return ok(await file.value.readFile("utf8"));
  } finally {
    await file.value.close();
  }
}

async function writeWithin(folder: string, path: string, text: string): Promise<Result<true>> {
  const file = await openInside(folder, path, constants.O_WRONLY | constants.O_CREAT, { make: true });
  if (!file.ok) return file;
  try {
    await file.value.truncate();
    await file.value.writeFile(text);
    return ok(true);
  } finally {
    await file.value.close();
  }
}

const left = new Set([".git", "node_modules", ".scriptorium"]);

async function filesOf(folder: string, under = ""): Promise<string[]> {
  const found: string[] = [];
  const walk = async (at: string): Promise<void> => {
    const items = await listInside(folder, at);
    if (!items.ok) return;
    for (const item of items.value.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = at === "" ? item.name : `${at}/${item.name}`;
      if (left.has(item.name) || found.length > mostFiles) continue;
      if (item.isDirectory()) await walk(path);
      else if (item.isFile()) found.push(path);
    }
  };
  await walk(under);
  return found;
}
