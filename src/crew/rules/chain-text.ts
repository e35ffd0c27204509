import type * as z from "zod";
import { issueText } from "../../kernel/issue-text.ts";
import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";

type Line = { line: number; text: string };
export type Section = { level: number; heading: string; line: number; body: Line[] };

/** Everything that is wrong with a file, and where in it the parts of the plan stand. */
export class Trouble {
  #found: { line: number; message: string }[] = [];
  #places = new Map<string, number>();

  add(line: number, message: string): void {
    this.#found.push({ line, message });
  }
  at(path: string, line: number): void {
    this.#places.set(path, line);
  }
  knows = (path: string) => this.#places.has(path);
  isNone = () => this.#found.length === 0;

  unexpected(body: Line[], message: string): void {
    const first = body.find(({ text }) => text.trim() !== "");
    if (first) this.add(first.line, message);
  }

  /** Reports a schema error at the nearest known line. */
  addIssues(issues: readonly z.core.$ZodIssue[]): void {
    for (const issue of issues) {
      const path = issue.path.map(String);
      let known = path.length;
      while (known > 0 && !this.#places.has(path.slice(0, known).join("."))) known--;
      const line = this.#places.get(path.slice(0, known).join(".")) ?? 1;
      const missing = path.slice(known).filter((part) => !/^\d+$/.test(part));
      this.add(
        line,
        missing.length > 0 ? `${missing.join(" ").replaceAll("_", " ")}: ${issueText(issue)}` : issueText(issue),
      );
    }
  }

  sorted = () => [...this.#found].sort((a, b) => a.line - b.line);
}

/** Headings of levels 1 to 3 with the text below them. Lines inside a code fence are not headings. */
export function sectionsOf(text: string, trouble: Trouble): Section[] {
  const sections: Section[] = [{ level: 0, heading: "", line: 1, body: [] }];
  let fence: CodeFence | undefined;
  let openedAt = 0;
  for (const [i, content] of text.split("\n").entries()) {
    const line = i + 1;
    const heading = fence ? undefined : /^(#{1,3}) (.*)$/s.exec(content);
    if (heading) {
      sections.push({ level: heading[1]?.length ?? 0, heading: heading[2] ?? "", line, body: [] });
      continue;
    }
    sections.at(-1)?.body.push({ line, text: content });
    if (!fence) openedAt = line;
    fence = fenceAfter(fence, content);
  }
  if (fence) trouble.add(openedAt, "the code fence that starts here is not closed");
  return sections;
}

/** Plain where reading it back gives the same, otherwise with > before every line. */
export function textLines(text: string): string[] {
  if (text === "") return [];
  const trouble = new Trouble();
  const [before, after, ...more] = sectionsOf(`${text}\n\n### End`, trouble);
  const isPlain = trouble.isNone() && before && after?.heading === "End" && more.length === 0;
  if (isPlain && textOf(before, trouble) === text && trouble.isNone()) return text.split("\n");
  return text.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
}

export function textOf({ body }: Pick<Section, "body">, trouble: Trouble): string {
  const lines = [...body];
  while (lines[0]?.text.trim() === "") lines.shift();
  while (lines.at(-1)?.text.trim() === "") lines.pop();
  if (!lines[0]?.text.startsWith(">")) return lines.map(({ text }) => text).join("\n");
  for (const { line, text } of lines) {
    if (!text.startsWith(">"))
      trouble.add(line, "this text starts with >, so every line of it must, including empty ones");
  }
  return lines.map(({ text }) => text.replace(/^> ?/, "")).join("\n");
}
