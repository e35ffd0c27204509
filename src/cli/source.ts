import { basename } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { ok, refuse } from "../result.ts";
import { addSource, listSources, verifySources } from "../wiki/operations.ts";
import type { Source, SourceReport } from "../wiki/sources.ts";
import { type Common, complain, localPerson, print, readInput, report, withApp } from "./session.ts";
import { plural, table, when } from "./text.ts";

export const sourceCommand = (common: () => Common) =>
  new Command("source")
    .description("keep raw inputs that never change")
    .addCommand(
      new Command("add")
        .description(addSource.summary)
        .argument("<file...>", "files to copy in; - is stdin and needs --name")
        .option("--name <path>", "its path in the sources folder; the file's own name if left out")
        .action((files, { name }) => addAll(common(), files, name)),
    )
    .addCommand(
      new Command("list")
        .description(listSources.summary)
        .action(() => report(common(), listSources, {}, { text: listed, json: (found) => found.sources })),
    )
    .addCommand(
      new Command("verify")
        .description(verifySources.summary)
        .action(() => report(common(), verifySources, {}, { text: verified, json: judge })),
    );

function listed({ sources }: { sources: Source[] }): string {
  if (sources.length === 0) return "no sources yet; add one with: scriptorium source add <file>";
  return table([
    ["path", "bytes", "sha256", "added by", "at"],
    ...sources.map((s) => [s.path, String(s.size), s.sha256.slice(0, 12), s.addedBy, when(s.at)]),
  ]);
}

function verified(found: SourceReport): string {
  judge(found);
  const lines = [
    ...found.changed.map((s) => `changed: ${s.path}`),
    ...found.missing.map((s) => `missing: ${s.path}`),
    ...found.unknown.map((path) => `never added: ${path}`),
  ];
  return [...lines, `${plural(found.intact, "source")} intact`].join("\n");
}

/** A source that is not what it was is a problem for scripts too. */
function judge(found: SourceReport): SourceReport {
  if (found.changed.length + found.missing.length > 0) process.exitCode = 1;
  return found;
}

async function addAll(common: Common, files: string[], name: string | undefined): Promise<void> {
  const fromStdin = files.includes("-");
  if (fromStdin && !name)
    return complain(common, refuse("invalid", "what comes from stdin needs a name: --name <path>").problem);
  if (name && files.length > 1) return complain(common, refuse("invalid", "--name is for one file at a time").problem);
  await withApp(common, async (app) => {
    const person = await localPerson(app);
    const added: (Source & { added: boolean })[] = [];
    for (const file of files) {
      const bytes = await readInput(file);
      const input = { name: name ?? basename(file), content: bytes.toString("base64"), encoding: "base64" };
      const done = await addSource.perform(app, input, person);
      if (!done.ok) return complain(common, done.problem);
      added.push(done.value);
    }
    const text = () =>
      added.map((s) => `${s.added ? "added" : "already there"}: ${s.path} ${s.sha256.slice(0, 12)}`).join("\n");
    print(common, ok(added), { text, json: () => (added.length === 1 ? added[0] : added) });
  });
}
