import { lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unwrap } from "../../src/kernel/result.ts";
import { listEntries, searchEntries } from "../../src/wiki/operations.ts";
import { emptyDocument, withBody } from "../../src/wiki/stores/document.ts";
import { median, timed } from "../support/measure.ts";
import { command, type Place, succeed } from "../support/place.ts";
import { atMost, holds, type Row, type Table } from "../support/table.ts";
import { numbered } from "../support/text.ts";
import { agent, openWorkspace, role } from "../support/workspace.ts";

const sizes = [10, 1000, 10_000];
const rounds = 9;

/** A schema of thousands of sections in a process that does not serve, beside git on the same files. */
export async function manySections(place: Place): Promise<Table[]> {
  const tables: Table[] = [];
  for (const size of sizes) tables.push(await sectionsTable(place, size));
  return tables;
}

async function sectionsTable(place: Place, size: number): Promise<Table> {
  const root = place.folder("sections");
  const ids = numbered(size, 100);
  const git = (...args: string[]) => succeed(place.start("git", ["-C", root, ...args]));
  await git("init", "-q", "-b", "main");
  await git("config", "user.name", "Ada Lovelace");
  await git("config", "user.email", "ada@example.org");
  const line = (id: string) =>
    `    - { id: ${id}, title: "Entry ${id}", mode: snapshot, writable_by: [${role}], description: What ${id} says. }\n`;
  const schema = `schema:\n  sections:\n${ids.map(line).join("")}pipeline: [${role}]\n`;
  await succeed(place.start("mkdir", [join(root, "wiki")]));
  writeFileSync(join(root, "wiki/schema.yaml"), schema);
  const init = await timed(() =>
    succeed(place.start(process.execPath, [command("scriptorium"), "init", root, "--yes", "--connect", "none"])),
  );
  await git("add", "-A");

  const newest = ids.at(-1) ?? "";
  writeFileSync(join(root, `wiki/${newest}.md`), withBody(emptyDocument, "The wryneck came last.\n", newest));
  const app = await openWorkspace(root, place.environment);
  place.onLeave(() => app.close().catch(() => undefined));
  let found: string | undefined;
  const firstSearch = await timed(async () => {
    const { results } = unwrap(await searchEntries.perform(app, { query: "wryneck" }, agent()));
    found = results[0]?.id;
  });
  while ((await app.search.catchUp()) > 0);
  const measured = async (work: () => Promise<unknown>) => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await timed(work));
    return median(times);
  };
  const list = await measured(async () => unwrap(await listEntries.perform(app, {}, agent())));
  const search = await measured(async () => unwrap(await searchEntries.perform(app, { query: "wryneck" }, agent())));
  const status = await measured(() => git("status", "--porcelain"));
  const files = await measured(() => git("ls-files", "-s"));
  const stats = await measured(async () => ids.map((id) => lstatSync(join(root, `wiki/${id}.md`))));
  const rows: Row[] = [
    { what: "scriptorium init", figures: { ms: init }, target: atMost(30_000, init, "ms") },
    { what: "list_entries, not serving", figures: { ms: list }, target: atMost(50, list, "ms") },
    { what: "search_entries, not serving", figures: { ms: search } },
    {
      what: "first search, for the newest entry",
      figures: { ms: firstSearch },
      target: holds("finds it", found === newest),
    },
    { what: "git status", figures: { ms: status } },
    { what: "git ls-files -s (compares nothing)", figures: { ms: files } },
    { what: "lstat of every file, alone", figures: { ms: stats } },
  ];
  return { question: `${size} sections (median of ${rounds}; init and first search once)`, rows };
}
