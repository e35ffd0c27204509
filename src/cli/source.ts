import { statSync } from "node:fs";
import { Command } from "@commander-js/extra-typings";
import type * as z from "zod";
import { ok, refuse } from "../kernel/result.ts";
import { filesAt } from "../wiki/sources/intake.ts";
import { addSource, followSources, listSources, readSource, verifySources } from "../wiki/sources/operations.ts";
import { largestSource, type SourceReport, tooLarge } from "../wiki/sources/sources.ts";
import { type Common, complain, fail, localPerson, print, readInput, report, withApp } from "./session.ts";
import { shell, writeOut } from "./shell.ts";
import { json, plural, table, when } from "./text.ts";

export const sourceCommand = (common: () => Common) =>
  new Command("source")
    .description("add and read sources: raw material that never changes")
    .addCommand(
      new Command("add")
        .description(addSource.summary)
        .argument("<file...>", "files and folders to copy; - for stdin, with --name")
        .option("--name <path>", "path in the sources folder (default: the file's name)")
        .action((files, { name }) => addAll(common(), files, name)),
    )
    .addCommand(
      new Command("watch")
        .description("Follow a folder: add its files as sources whenever they change.")
        .argument("<folder>", "files ignored by .gitignore are skipped")
        .option("--once", "synchronize once and exit")
        .action((folder, { once }) => watchFolder(common(), folder, once ?? false)),
    )
    .addCommand(
      new Command("list")
        .description(listSources.summary)
        .action(() => report(common(), listSources, {}, { text: listed, json: (found) => found.sources })),
    )
    .addCommand(
      new Command("read")
        .description(readSource.summary)
        .argument("<path>", "path in the sources folder")
        .action((path) => report(common(), readSource, { path }, { text: read, json: (found) => found })),
    )
    .addCommand(
      new Command("verify")
        .description(verifySources.summary)
        .action(() => report(common(), verifySources, {}, { text: verified, json: judge })),
    );

function listed({ sources }: z.infer<typeof listSources.output>): string {
  if (sources.length === 0) return "no sources yet; add one with: scriptorium source add <file>";
  return table([
    ["path", "bytes", "sha256", "added by", "at"],
    ...sources.map((s) => [s.path, String(s.size), s.sha256.slice(0, 12), s.added_by, when(s.at)]),
  ]);
}

const read = ({ path, content }: { path: string; content: string | null }) =>
  content === null ? `${path} contains no text` : content;

function verified(found: SourceReport): string {
  judge(found);
  const lines = [
    ...found.changed.map((s) => `changed: ${s.path}`),
    ...found.missing.map((s) => `missing: ${s.path}`),
    ...found.unknown.map((path) => `not added as a source: ${path}`),
  ];
  return [...lines, `${plural(found.intact, "source")} intact`].join("\n");
}

/** Sets the exit code, for scripts. */
function judge(found: SourceReport): SourceReport {
  if (found.changed.length + found.missing.length > 0) shell().exitCode = 1;
  return found;
}

async function addAll(common: Common, paths: string[], name: string | undefined): Promise<void> {
  const fromStdin = paths.includes("-");
  if (fromStdin && !name)
    return complain(common, refuse("invalid", "input from stdin needs a name: --name <path>").problem);
  const files = (
    await Promise.all(paths.map((path) => (path === "-" ? [{ file: "-", name: "-" }] : filesAt(path))))
  ).flat();
  if (name && files.length > 1) return complain(common, refuse("invalid", "--name works with one file only").problem);
  if (files.length === 0) return complain(common, refuse("invalid", `no files found in ${paths.join(", ")}`).problem);
  await withApp(common, async (app) => {
    const person = await localPerson(app, common);
    const added: z.infer<typeof addSource.output>[] = [];
    const { idempotencyKey: key } = common;
    for (const [index, { file, name: own }] of files.entries()) {
      const size = file === "-" ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
      if (size > largestSource) return complain(common, tooLarge(file, size).problem);
      const bytes = await readInput(file);
      const input = { name: name ?? own, content: bytes.toString("base64"), encoding: "base64" };
      const once = app.idempotency.once(key && files.length > 1 ? `${key}/${index}` : key);
      const done = await addSource.perform(app, input, person, once);
      if (!done.ok) return complain(common, done.problem);
      added.push(done.value);
    }
    const text = () =>
      added.map((s) => `${s.added ? "added" : "already added"}: ${s.path} ${s.sha256.slice(0, 12)}`).join("\n");
    print(common, ok(added), { text, json: () => (added.length === 1 && paths.length === 1 ? added[0] : added) });
  });
}

const restMs = 200;

/** Scans the whole folder after each change, so that missed file events are caught up. */
async function watchFolder(common: Common, folder: string, once: boolean): Promise<void> {
  await withApp(common, async (app) => {
    const person = await localPerson(app, common);
    const look = async () => {
      const followed = await followSources.perform(app, { folder }, person);
      if (!followed.ok) {
        complain(common, followed.problem);
        return false;
      }
      if (common.json && !once) for (const change of followed.value.changes) writeOut(`${json(change)}\n`);
      else
        print(common, followed, {
          text: ({ changes }) => changes.map(spelledChange).join("\n"),
          json: ({ changes }) => changes,
        });
      await app.recorder.drain(2000);
      return true;
    };
    if (!(await look()) || once) return;
    const { watch } = await import("chokidar");
    const watcher = watch(folder, { ignoreInitial: true, ignored: /(^|\/)(\.git|node_modules)(\/|$)/ });
    let changed = Promise.resolve();
    let timer: NodeJS.Timeout | undefined;
    watcher.on("all", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        changed = changed.then(async () => void (await look())).catch((error) => fail(common, error));
      }, restMs);
    });
    await new Promise<void>((stop) => {
      process.once("SIGINT", () => stop());
      process.once("SIGTERM", () => stop());
    });
    clearTimeout(timer);
    await watcher.close();
    await changed;
  });
}

const spelledChange = ({ kind, file, source, why }: { kind: string; file: string; source?: string; why?: string }) =>
  kind === "refused" ? `refused: ${file}: ${why}` : `${kind}: ${file} (${source})`;
