import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chunk } from "../../src/search/index/chunk.ts";
import { parseDocument } from "../../src/wiki/stores/document.ts";
import type { Collection, Question } from "./sets.ts";

const folders = ["example/wiki", "example/sources", "docs", "."];

/**
 * Questions that engineers ask of a handbook (identifiers, paths, error messages, decisions, facts)
 * over the example's and our own. Each names the words that answer it; right is the passage that has them.
 * What is changed is judged by the first half; the other is only ever counted.
 */
export function readHouse(): Collection[] {
  const texts = new Map(folders.flatMap((folder) => filesIn(folder)).map((file) => [file, textOf(file)]));
  const [, ...lines] = readFileSync("bench/questions/engineering.tsv", "utf8").trim().split("\n");
  const stale: string[] = [];
  const questions = lines.flatMap((line): Question[] => {
    const [category = "", file = "", quote = "", text = ""] = line.split("\t");
    const parts = chunk(texts.get(file) ?? { title: "", text: "" }).filter(({ body, heading }) =>
      `${heading}\n${body}`.includes(quote),
    );
    if (parts.length === 0) stale.push(`${file}: ${quote}`);
    return parts.slice(0, 1).map((part) => ({ text, category, gold: new Map([[`${file}#L${part.line}`, 1]]) }));
  });
  // The texts are the repository's own and change; a question whose answer is gone cannot be asked.
  if (stale.length > 0) console.error(`left out, because the quote is no longer in the text:\n  ${stale.join("\n  ")}`);
  return [0, 1].map((half) => ({
    name: half === 0 ? "house-dev" : "house-report",
    role: half === 0 ? "dev" : "report",
    unit: "line",
    texts,
    facts: [],
    questions: questions.filter((_, at) => at % 2 === half),
  }));
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: folder !== ".", withFileTypes: true })
    .filter((item) => item.isFile() && /\.(md|txt|csv)$/.test(item.name))
    .map((item) => join(item.parentPath, item.name))
    .filter((file) => !/^docs\/(node_modules|reference|public)\//.test(file))
    .sort();

function textOf(file: string): { title: string; text: string } {
  const { front, body } = parseDocument(readFileSync(file));
  return { title: /^title: (.+)$/m.exec(front ?? "")?.[1] ?? file, text: body };
}
