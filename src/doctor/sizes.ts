import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { tableSizes } from "../store/queries/sizes.ts";

const part = z.object({ name: z.string(), bytes: z.int() });

export const showSizes = operation({
  name: "show_sizes",
  summary: "Show how much space the database, git, logs and working folders take.",
  effect: "reads",
  reads: ["entry", "run"],
  callers: ["admin"],
  group: "admin",
  http: { method: "get", path: "/sizes" },
  input: z.object({}),
  output: z.object({
    database: z.array(part).describe("By what the tables hold, largest first"),
    git: z.array(part).describe("loose: single objects; packed; garbage: files that a killed git left"),
    folders: z.array(part).describe("In `.scriptorium`, and the logs of agents"),
  }),
  async run(app: CrewApp) {
    const [tables, git, folders] = await Promise.all([
      tableSizes[app.db.engine](app.db.read),
      gitSizes(app),
      folderSizes(app),
    ]);
    const groups = new Map<string, number>();
    for (const { name, bytes } of tables) groups.set(groupOf(name), (groups.get(groupOf(name)) ?? 0) + bytes);
    const database = [...groups].map(([name, bytes]) => ({ name, bytes }));
    return ok({ database: database.sort((a, b) => b.bytes - a.bytes), git, folders });
  },
});

const tablesOf: Record<string, RegExp> = {
  events: /^event|^idempotency$/,
  "texts and versions": /^(entries|entry_versions|schema_versions|page_texts|source_texts|sources|pages|git_queue)$/,
  search: /^(search_queue|things|passage.*|vocabulary|vectors|fts.*|.*_fts.*|words.*)$/,
  graph: /^(nodes|edges|entry_links|node_.*)$/,
  "transcripts and tool calls": /^(transcript|job_transcript|tool_calls|contexts|fingerprints)$/,
  "tasks and runs":
    /^(tasks|task_.*|runs?|run_.*|attempts|check_results|verdicts|spends|questions|gates|plan_.*|setups)$/,
  review:
    /^(topics|messages|mentions|assignments|read_marks|proposals?|proposal_.*|line_comments|perspectives|agent_jobs)$/,
};

const groupOf = (table: string) => Object.entries(tablesOf).find(([, pattern]) => pattern.test(table))?.[0] ?? "other";

async function gitSizes({ git }: CrewApp): Promise<z.infer<typeof part>[]> {
  const { stdout } = await git.run(["count-objects", "-v"]);
  const kilobytes = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(String(stdout))?.[1] ?? 0);
  return [
    { name: "loose", bytes: kilobytes("size") * 1024 },
    { name: "packed", bytes: kilobytes("size-pack") * 1024 },
    { name: "garbage", bytes: kilobytes("size-garbage") * 1024 },
  ];
}

async function folderSizes({ config }: CrewApp): Promise<z.infer<typeof part>[]> {
  const { stateFolder, agent } = config;
  const names = await readdir(stateFolder, { withFileTypes: true });
  const inside = names
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, path: join(stateFolder, name) }));
  const logs = agent?.logDir;
  const isElsewhere = logs !== undefined && !inside.some(({ path }) => path === logs);
  const all = isElsewhere ? [...inside, { name: logs, path: logs }] : inside;
  const sizes = await Promise.all(all.map(async ({ name, path }) => ({ name, bytes: await sizeOf(path) })));
  return sizes.sort((a, b) => b.bytes - a.bytes);
}

/** Bytes of the files below a folder. Links are not followed, and what disappears meanwhile counts as nothing. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let sum = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += await sizeOf(path);
    else sum += (await lstat(path).catch(() => undefined))?.size ?? 0;
  }
  return sum;
}
