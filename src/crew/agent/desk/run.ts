import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as z from "zod";
import { runBounded } from "../../../agents/bounded.ts";
import { spell } from "../../../agents/process.ts";
import { operation } from "../../../kernel/operation.ts";
import { ok, refuse } from "../../../kernel/result.ts";
import { storable } from "../../../kernel/storable.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { accessOf, type Desk, reading, writing } from "./place.ts";
import { linesOf } from "./read.ts";

const mostCharacters = 16_000;
const errorCharacters = 2000;
const variable = z
  .string()
  .max(4100)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*=/, "expected NAME=value");

/** `run_command`, and `read_output` for outputs that are too long for one answer. */
export function commandTools(desk: Desk) {
  let last = 0;
  const fileOf = (output: number, folder: string) => {
    const scratch = desk.beside?.(folder)?.scratch;
    return scratch && join(scratch, `output-${output}.txt`);
  };

  const run = operation({
    ...writing,
    name: "run_command",
    summary: "Run a program in your folder.",
    guidance:
      'For pipes use ["sh", "-c", "…"]. A long output is cut to its first 50 and last 150 lines; read_output has the rest.',
    input: z.object({
      run: z.array(z.string().max(20_000)).min(1).max(200).describe("Program and arguments"),
      env: z.array(variable).max(100).default([]).describe("NAME=value"),
      seconds: z.number().min(1).max(86_400).optional().describe("Time limit"),
      head: z.int().min(0).max(2000).default(50),
      tail: z.int().min(0).max(2000).default(150),
    }),
    output: z.object({
      exit: z.int().nullable(),
      ended: z.string(),
      seconds: z.number(),
      output: z.string(),
      lines: z.int(),
      output_id: z.int().optional(),
    }),
    async run(_app: CrewApp, { run, env, seconds, head, tail }) {
      const access = await accessOf(desk);
      const id = ++last;
      const logFile = fileOf(id, access.folder);
      const wallMs = Math.min(desk.commandMs, (seconds ?? Number.POSITIVE_INFINITY) * 1000);
      // Set inside the sandbox: the program that builds it would obey LD_PRELOAD and its like outside.
      const argv = (env.length > 0 ? ["env", ...env, ...run] : run) as [string, ...string[]];
      const options = { run: desk.run, wallMs, signal: desk.signal, ...(logFile ? { logFile } : {}) };
      const ran = await runBounded(desk.sandbox, argv, access, options);
      const whole = (logFile && (await beginningAndEnd(logFile, head, tail))) || shortened(ran.output, head, tail);
      return ok({
        exit: ran.exitCode,
        ended: endOf(ran.ended, ran.exitCode, ran.error, wallMs),
        seconds: Math.round(ran.durationMs / 100) / 10,
        output: storable(whole.text) + (whole.isCut ? unseen(ran.errorTail, whole.text) : ""),
        lines: whole.lines,
        ...(logFile && whole.isCut ? { output_id: id } : {}),
      });
    },
  });

  const readOutput = operation({
    ...reading,
    name: "read_output",
    summary: "Read lines of an output that run_command cut.",
    guidance: "Kept until your work on the task ends.",
    input: z.object({
      id: z.int().min(1).describe("output_id"),
      from: z
        .int()
        .refine((line) => line !== 0, "lines count from 1")
        .default(1)
        .describe("First line; -50: the last 50"),
      lines: z.int().min(1).max(2000).default(400),
    }),
    output: z.object({ content: z.string(), from: z.int(), of: z.int(), note: z.string().optional() }),
    async run(_app: CrewApp, { id, from, lines }) {
      const { folder } = await accessOf(desk);
      const file = fileOf(id, folder);
      const handle = file && (await open(file).catch(() => undefined));
      if (!handle) return refuse("not_found", `no output ${id} is kept; run_command names it as output_id`);
      return ok(await pageOf(handle, from, lines));
    },
  });
  return [run, readOutput];
}

function endOf(ended: string, exit: number | null, error: string | undefined, wallMs: number): string {
  if (ended === "exit") return error ?? `exited with code ${exit}`;
  if (ended === "timeout") return `stopped: it took longer than ${spell(wallMs)}`;
  return error ?? ended;
}

/** Errors are often printed long before the end of the output. */
function unseen(errorTail: string, text: string): string {
  const last = errorTail.trimEnd();
  return last === "" || text.includes(last) ? "" : `\n… (end of stderr)\n${last.slice(-errorCharacters)}`;
}

type Shortened = { text: string; lines: number; isCut: boolean };

function shortened(text: string, head: number, tail: number): Shortened {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  return joined(all.slice(0, head), all.slice(head).slice(Math.max(0, all.length - head - tail)), all.length, tail);
}

/** Reads a long output line by line: it can have 64 MiB. */
async function beginningAndEnd(file: string, head: number, tail: number): Promise<Shortened | undefined> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return undefined;
  const first: string[] = [];
  let last: string[] = [];
  let lines = 0;
  for await (const line of linesIn(handle)) {
    lines++;
    if (first.length < head) first.push(line);
    else if (tail > 0) last.push(line);
    if (last.length > 2 * tail + 100) last = last.slice(-tail);
  }
  return joined(first, tail > 0 ? last.slice(-tail) : [], lines, tail);
}

function joined(first: string[], last: string[], lines: number, tail: number): Shortened {
  const left = lines - first.length - (tail > 0 ? last.length : 0);
  const [start, end] = [limited(first, "start"), limited(last, "end")];
  const gap = left > 0 ? [`… (${left} lines left out)`] : [];
  const text = [...(first.length > 0 ? [start.text] : []), ...gap, ...(last.length > 0 ? [end.text] : [])].join("\n");
  return { text, lines, isCut: left > 0 || start.isCut || end.isCut };
}

/** A few very long lines must not fill the context either. */
function limited(lines: string[], keep: "start" | "end"): { text: string; isCut: boolean } {
  const text = lines.join("\n");
  if (text.length <= mostCharacters / 2) return { text, isCut: false };
  const kept = keep === "start" ? text.slice(0, mostCharacters / 2) : text.slice(-mostCharacters / 2);
  const mark = `… (${text.length - kept.length} characters left out)`;
  return { text: keep === "start" ? `${kept}\n${mark}` : `${mark}\n${kept}`, isCut: true };
}

const linesIn = (handle: FileHandle) =>
  createInterface({ input: handle.createReadStream({ encoding: "utf8" }), crlfDelay: Number.POSITIVE_INFINITY });

async function pageOf(handle: FileHandle, from: number, lines: number) {
  const kept: string[] = [];
  let of = 0;
  for await (const line of linesIn(handle)) {
    of++;
    if (from > 0 ? of >= from && kept.length < lines : true) kept.push(line);
    if (from < 0 && kept.length > -from) kept.shift();
  }
  const first = from > 0 ? from : Math.max(1, of - kept.length + 1);
  const page = linesOf(kept.join("\n"), { from: 1, lines });
  return { ...page, content: storable(page.content), from: first, of };
}
