import { Command } from "@commander-js/extra-typings";
import { appendLog, commitEntry, entryHistory, fetchEntry, listEntries } from "../wiki/operations.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, readInput, report } from "./session.ts";
import { bold, dim, table, when } from "./text.ts";

export const entryCommand = (common: () => Common) =>
  new Command("entry")
    .description("read and write entries of the wiki")
    .addCommand(
      new Command("list")
        .description(listEntries.summary)
        .option("--under <folder>", "only entries in this folder, such as api")
        .action(({ under }) =>
          report(common(), listEntries, { under, all: true }, { text: catalogue, json: (found) => found.entries }),
        ),
    )
    .addCommand(
      new Command("read")
        .description(fetchEntry.summary)
        .argument("<id>", "id of the entry, such as vision or api/errors")
        .option("--version <n>", "version to read (default: the latest)", Number)
        .action((id, { version }) =>
          report(common(), fetchEntry, { id, version }, (entry) =>
            entry.content === "" ? dim(`${id} is empty (version ${entry.version})`) : entry.content,
          ),
        ),
    )
    .addCommand(
      new Command("commit")
        .description(`${commitEntry.summary} Reads the text from a file or stdin.`)
        .argument("<id>")
        .requiredOption("--version <n>", "version that your text is based on, as shown by `entry read --json`", Number)
        .option("--file <path>", "file with the new text; - for stdin", "-")
        .action(async (id, { version, file }) => {
          const content = (await readInput(file)).toString("utf8");
          await report(
            common(),
            commitEntry,
            { id, content, version },
            (done) => `${id} is at version ${done.version}`,
          );
        }),
    )
    .addCommand(
      new Command("append")
        .description(appendLog.summary)
        .argument("<id>")
        .argument("<line...>", "text of the line")
        .action((id, words) =>
          report(
            common(),
            appendLog,
            { id, line: words.join(" ") },
            (done) => `${id} is at version ${done.version}: ${done.line}`,
          ),
        ),
    )
    .addCommand(
      new Command("history")
        .description(entryHistory.summary)
        .argument("<id>")
        .option("--diff", "show the diff of each version")
        .option("--limit <n>", "maximum number of versions, newest first", Number)
        .action((id, { diff, limit }) =>
          report(common(), entryHistory, { id, diff, limit }, { text: versionList, json: (found) => found.versions }),
        ),
    );

type Listed = OutputOf<typeof listEntries>;
type Versions = OutputOf<typeof entryHistory>;

function catalogue({ entries }: Listed): string {
  if (entries.length === 0) return "no entries; sections are defined in wiki/schema.yaml";
  const rows = entries.map((e) => [
    e.id,
    String(e.version),
    String(e.wordCount),
    e.lastAuthor || "–",
    when(e.updated_at ?? ""),
    e.title + (e.mode === "log" ? " (log)" : ""),
  ]);
  return table([["id", "version", "words", "last author", "changed", "title"], ...rows]);
}

function versionList({ versions }: Versions): string {
  if (versions.length === 0) return "no versions yet";
  return versions
    .map((v) => {
      const under = [v.run && `run ${v.run}`, v.task && `task ${v.task}`, v.epoch !== null && `epoch ${v.epoch}`];
      const by = v.role ? `${v.author} (agent)` : v.author;
      const line = [bold(`version ${v.version}`), when(v.at), by, ...under.filter(Boolean)].join("  ");
      return v.diff ? `${line}\n${v.diff}` : line;
    })
    .join("\n");
}
