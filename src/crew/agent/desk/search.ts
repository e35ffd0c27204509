import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../../kernel/result.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { filesOf, isBinary, readBytes } from "./files.ts";
import { type Desk, folderOf, glob, reading, skip, under } from "./place.ts";
import { type Match, type Pattern, patternOf, type SearchedFile, searchTask } from "./search-task.ts";

const pageSize = 100;
const largestSearched = 2 * 1024 * 1024;
const batchCharacters = 1024 * 1024;
const searchMs = 20_000;

export const searchTool = (desk: Desk) =>
  operation({
    ...reading,
    name: "search_files",
    summary: "Find lines that match a regular expression, like ripgrep.",
    guidance: "100 lines at a time.",
    input: z.object({
      pattern: z.string().min(1).max(1000),
      literal: z.boolean().default(false),
      ignore_case: z.boolean().default(false),
      under,
      glob,
      context: z.int().min(0).max(20).default(0),
      skip,
    }),
    output: z.object({
      matches: z.string(),
      found: z.string(),
      total: z.int().describe("Matches in the files searched so far"),
      complete: z.boolean().describe("Whether all files were searched"),
      next: z.int().optional(),
    }),
    async run({ threads }: CrewApp, { pattern: text, literal, ignore_case, under, glob, context, skip }) {
      const pattern = compiled(text, literal, ignore_case);
      if (!pattern.ok) return pattern;
      const folder = await folderOf(desk);
      const wanted = { under, glob, exclude: desk.beside?.(folder)?.exclude };
      const page: Match[] = [];
      const count = { matches: 0, files: 0, searched: 0, large: 0 };
      const deadline = performance.now() + searchMs;
      let stoppedAt: string | undefined;
      for await (const { files, large } of batches(folder, wanted)) {
        const found = await threads.run(searchTask, { files, pattern: pattern.value, context });
        if (!found.ok) return found;
        for (const { matches } of found.value) {
          const room = [skip - count.matches, skip + pageSize - count.matches].map((n) => Math.max(0, n));
          page.push(...matches.slice(...room));
          count.matches += matches.length;
          count.files += matches.length > 0 ? 1 : 0;
        }
        count.searched += files.length;
        count.large += large;
        if (performance.now() < deadline && !desk.signal.aborted) continue;
        stoppedAt = files.at(-1)?.path;
        break;
      }
      const next = skip + pageSize < count.matches ? { next: skip + pageSize } : {};
      const found = summary(count, page.length, skip, stoppedAt);
      const complete = stoppedAt === undefined && count.large === 0;
      return ok({ matches: printed(page, context), found, total: count.matches, complete, ...next });
    },
  });

function compiled(text: string, literal: boolean, ignoreCase: boolean): Result<Pattern> {
  try {
    return ok(patternOf(text, literal, ignoreCase));
  } catch (error) {
    return refuse("invalid", `pattern: ${(error as Error).message}; set literal: true to search for plain text`);
  }
}

/** Files are read here, where no link is followed, and matched in a thread. */
async function* batches(folder: string, wanted: Parameters<typeof filesOf>[1]) {
  let batch = { files: [] as SearchedFile[], large: 0 };
  let size = 0;
  for await (const paths of groups(filesOf(folder, wanted))) {
    const read = await Promise.all(paths.map((path) => readBytes(folder, path, largestSearched)));
    for (const [i, bytes] of read.entries()) {
      if (!bytes.ok) batch.large += bytes.problem.code === "refused" ? 1 : 0;
      if (!bytes.ok || isBinary(bytes.value)) continue;
      const text = bytes.value.toString("utf8");
      batch.files.push({ path: paths[i] ?? "", text });
      size += text.length;
    }
    if (size < batchCharacters) continue;
    yield batch;
    batch = { files: [], large: 0 };
    size = 0;
  }
  yield batch;
}

/** Files are opened side by side: one after the other, each waits for the disk several times. */
async function* groups(paths: AsyncIterable<string>): AsyncGenerator<string[]> {
  let group: string[] = [];
  for await (const path of paths) {
    group.push(path);
    if (group.length < 32) continue;
    yield group;
    group = [];
  }
  yield group;
}

/** Groups of context are separated as ripgrep does it. */
const printed = (page: readonly Match[], context: number) =>
  page.map((lines) => lines.join("\n")).join(context > 0 ? "\n--\n" : "\n");

type Count = { matches: number; files: number; searched: number; large: number };

function summary(count: Count, shown: number, skip: number, stoppedAt: string | undefined): string {
  const numbers = `${count.matches} matching lines in ${count.files} of ${count.searched} files`;
  const part = shown < count.matches ? `; these are ${skip + 1} to ${skip + shown}` : "";
  const large = count.large > 0 ? `; ${count.large} files over ${largestSearched} bytes were not searched` : "";
  const stopped = stoppedAt ? `; stopped after ${searchMs / 1000} s at ${stoppedAt}, narrow it with under or glob` : "";
  return numbers + part + large + stopped;
}
