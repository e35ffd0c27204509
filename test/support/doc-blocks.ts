/**
 * The command blocks of README.md and docs/, and how to run them.
 *
 *   ```sh        commands, one a line; each must exit with 0
 *   ```console   commands after "$ ", each followed by output it prints, in order; … stands for any text
 *
 * HTML comments above a block change how it runs, and do not show on the page:
 *
 *   <!-- not run: reason -->    the block is not run
 *   <!-- exit 1 -->             the last command exits with this code
 *   <!-- keeps running: text -->  a server; it has started when it prints the text, and runs until the page ends
 *   <!-- setup … -->            commands of their own, which readers do not need
 *
 * `t-…` in a command stands for the newest id with this prefix that was printed on the page.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Block = {
  page: string;
  line: number;
  language: string;
  text: string;
  notRun?: string;
  keepsRunning?: string;
  exit: number;
};

const fence = /( *)(`{3,})([\w-]*)[^\n]*\n([\s\S]*?)^\1\2 *$/my;
const comment = / *<!--([\s\S]*?)-->/y;

/** Every fenced block and every setup of a page, in order. */
export function blocksOf(root: string, page: string): Block[] {
  const text = readFileSync(join(root, page), "utf8");
  const blocks: Block[] = [];
  let marks: string[] = [];
  for (let at = 0; at < text.length; ) {
    fence.lastIndex = at;
    comment.lastIndex = at;
    const line = text.slice(0, at).split("\n").length;
    const [whole = "", indent = "", , language = "", body = ""] = fence.exec(text) ?? [];
    const [remark = "", inside = ""] = comment.exec(text) ?? [];
    if (whole !== "") {
      const own = body.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      blocks.push({ page, line, language, text: own, ...readMarks(marks) });
      marks = [];
      at += whole.length;
    } else if (/^ setup\n/.test(inside)) {
      blocks.push({ page, line, language: "setup", text: inside.replace(/^ setup\n/, ""), exit: 0 });
      at += remark.length;
    } else if (remark !== "") {
      marks.push(inside.trim());
      at += remark.length;
    } else {
      const end = text.indexOf("\n", at);
      if (text.slice(at, end < 0 ? undefined : end).trim() !== "") marks = [];
      at = end < 0 ? text.length : end + 1;
    }
  }
  return blocks;
}

function readMarks(marks: string[]): Pick<Block, "notRun" | "keepsRunning" | "exit"> {
  const value = (name: string) =>
    marks
      .find((mark) => mark.startsWith(name))
      ?.slice(name.length)
      .trim();
  const [notRun, keepsRunning] = [value("not run:"), value("keeps running:")];
  return {
    ...(notRun ? { notRun } : {}),
    ...(keepsRunning ? { keepsRunning } : {}),
    exit: Number(value("exit ") ?? 0),
  };
}

export type Step = { command: string; expected: string[] };

/** The commands of a block; in a `console` block each with the output below it. */
export function stepsOf({ language, text }: Block): Step[] {
  if (language === "setup") return [{ command: text, expected: [] }];
  if (language === "sh") {
    const lines = text.replaceAll("\\\n", " ").split("\n");
    return lines.filter((line) => line.trim() !== "").map((command) => ({ command, expected: [] }));
  }
  const steps: Step[] = [];
  for (const line of text.trimEnd().split("\n")) {
    const last = steps.at(-1);
    if (line.startsWith("$ ")) steps.push({ command: line.slice(2), expected: [] });
    else if (line.startsWith("> ") && last) last.command += `\n${line.slice(2)}`;
    else if (line.trim() !== "") last?.expected.push(line.trim());
  }
  return steps;
}

/** The first expected line that the output lacks, or has before an earlier one. */
export function missingLine(expected: string[], output: string): string | undefined {
  const lines = output.split("\n").map((line) => line.trim());
  let from = 0;
  return expected.find((wanted) => {
    if (wanted === "…") return false;
    const pattern = new RegExp(`^${wanted.split("…").map(literal).join(".*")}$`, "u");
    const found = lines.findIndex((line, at) => at >= from && pattern.test(line));
    from = found + 1;
    return found < 0;
  });
}

const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
