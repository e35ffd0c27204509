import { Command } from "@commander-js/extra-typings";
import { createSection } from "../review/proposals/section-operations.ts";
import { showSchema } from "../wiki/operations.ts";
import { renameSection, schemaHistory } from "../wiki/schema/operations.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { bold, table, when } from "./text.ts";

export const schemaCommand = (common: () => Common) =>
  new Command("schema")
    .description("show the schema and its versions")
    .addCommand(
      new Command("show")
        .description(showSchema.summary)
        .option("--version <n>", "print the text of this version instead", Number)
        .action(({ version }) => report(common(), showSchema, { version }, sectionsOrText)),
    )
    .addCommand(
      new Command("history")
        .description(schemaHistory.summary)
        .option("--diff", "show the diff of each version")
        .option("--limit <n>", "maximum number of versions, newest first", Number)
        .action(({ diff, limit }) =>
          report(common(), schemaHistory, { diff, limit }, { text: versionList, json: (found) => found.versions }),
        ),
    );

function sectionsOrText({ sections, pipeline, text }: OutputOf<typeof showSchema>): string {
  if (text !== undefined) return text;
  const rows = sections.map(({ id, mode, writable_by: roles, title }) => [
    id,
    mode,
    roles.join(", ") || "people",
    title,
  ]);
  const turns = pipeline.length === 0 ? "no pipeline" : `pipeline: ${pipeline.join(" → ")}`;
  return `${table([["id", "mode", "written by", "title"], ...rows])}\n${turns}`;
}

function versionList({ versions }: OutputOf<typeof schemaHistory>): string {
  if (versions.length === 0) return "no versions yet";
  return versions
    .map(({ version, at, author, summary, diff }) => {
      const line = [bold(`version ${version}`), when(at), author, summary].join("  ");
      return diff ? `${line}\n${diff}` : line;
    })
    .join("\n");
}

export const sectionCommand = (common: () => Common) =>
  new Command("section")
    .description("propose and rename sections of the wiki")
    .addCommand(
      new Command("propose")
        .description(createSection.summary)
        .argument("<id>", "id of the section, such as vision or api/errors")
        .requiredOption("--title <text>", "its title")
        .option("--mode <mode>", "snapshot or log", "snapshot")
        .option("--writable-by <roles>", "roles of agents that may write it, such as planner,engineer", "")
        .requiredOption("--description <text>", "what belongs in it")
        .action((id, { title, mode, writableBy, description }) => {
          const roles = writableBy.split(",").flatMap((role) => role.trim() || []);
          const input = { id, title, mode, writable_by: roles, description };
          return report(common(), createSection, input as never, ({ message }) => message);
        }),
    )
    .addCommand(
      new Command("rename")
        .description(renameSection.summary)
        .argument("<id>", "id of the section, such as vision or api/errors")
        .argument("<new-id>", "its new id")
        .option("--title <text>", "its new title (default: unchanged)")
        .action((id, newId, { title }) => report(common(), renameSection, { id, new_id: newId, title }, renamed(id))),
    );

const renamed =
  (old: string) =>
  ({ id, relinked, left }: OutputOf<typeof renameSection>): string =>
    [
      `${old} is now ${id}`,
      ...(relinked.length > 0 ? [`links changed in ${relinked.join(", ")}`] : []),
      ...left.map(({ path, reason }) => `${path} still links to ${old}: ${reason}`),
    ].join("\n");
