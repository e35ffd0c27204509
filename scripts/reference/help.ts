import { Readable, Writable } from "node:stream";
import type { Shell } from "../../src/cli/shell.ts";

/** A command as its own `--help` describes it. */
export type Help = {
  path: string[];
  usage: string;
  description: string;
  arguments: [term: string, text: string][];
  /** Without those that `shared` matches. */
  options: [term: string, text: string][];
  commands: string[];
  /** Examples and remarks below the lists. */
  after: string;
};

type Program = (args: string[], shell: Shell) => Promise<void>;

/** The help of a program and of every command below it, in the order in which the program lists them. */
export async function helpOf(program: Program, path: string[], shared: RegExp): Promise<Help[]> {
  const help = parse(await output(program, [...path.slice(1), "--help"]), path);
  const below: Help[] = [];
  for (const command of help.commands) below.push(...(await helpOf(program, [...path, command], shared)));
  return [{ ...help, options: help.options.filter(([term]) => !shared.test(term)) }, ...below];
}

/** The options of one command, shared ones included. */
export const optionsOf = async (program: Program, path: string[]) =>
  parse(await output(program, [...path.slice(1), "--help"]), path).options;

async function output(program: Program, args: string[]): Promise<string> {
  let text = "";
  const collect = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const ignore = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { stdin: Readable.from([]), stdout: collect, stderr: ignore };
  const shell = { ...streams, env: {}, cwd: "/", ancestors: async () => [], exitCode: 0 };
  await program(args, shell);
  if (shell.exitCode !== 0 || text === "") throw new Error(`no help for ${args.join(" ")}`);
  return text;
}

function parse(text: string, path: string[]): Help {
  const [usage = "", ...blocks] = text.trimEnd().split(/\n\n/);
  const list = (title: string) => rows(blocks.find((block) => block.startsWith(`${title}:\n`)) ?? "");
  const isList = (block: string) => /^(Arguments|Options|Commands):\n/.test(block);
  const first = blocks.findIndex(isList);
  const last = blocks.findLastIndex(isList);
  return {
    path,
    usage: usage.replace(/^Usage: /, "").replaceAll(/\s+/g, " "),
    description: blocks.slice(0, first).join(" ").replaceAll(/\s+/g, " "),
    arguments: list("Arguments"),
    options: list("Options"),
    commands: list("Commands").flatMap(([term]) => (/^help\b/.test(term) ? [] : [term.split(" ", 1)[0] ?? ""])),
    after: blocks.slice(last + 1).join("\n\n"),
  };
}

/** Two columns: a term, at least two spaces, a text that may go on in the column below. */
function rows(block: string): [string, string][] {
  const found: [string, string][] = [];
  for (const line of block.split("\n").slice(1)) {
    const [, term, text = ""] = /^ {2}(\S.*?)(?: {2,}(\S.*))?$/.exec(line) ?? [];
    const last = found.at(-1);
    if (term !== undefined) found.push([term, text]);
    else if (last) last[1] = `${last[1]} ${line.trim()}`.trim();
  }
  return found;
}
