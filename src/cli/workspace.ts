import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { installSkills } from "../agents/skills.ts";
import { status } from "../doctor/status.ts";
import { initWorkspace, listTemplates } from "../wiki/init.ts";
import { type Common, print, report, withApp } from "./session.ts";
import { shell } from "./shell.ts";
import { dim, green, plural } from "./text.ts";

export const initCommand = (common: () => Common) =>
  new Command("init")
    .description("make a folder a workspace; nothing that is there is overwritten")
    .argument("[dir]", "the folder", ".")
    .option("--template <name>", "sections to start with", "solo")
    .option("--skills", "also install the agent's skills into .claude/skills/")
    .addHelpText(
      "after",
      () =>
        `\nTemplates:\n${listTemplates()
          .map((t) => `  ${t.name.padEnd(10)} ${t.about}`)
          .join("\n")}`,
    )
    .action(async (dir, { template, skills }) => {
      const made = await initWorkspace(resolve(shell().cwd, dir), template, shell().env);
      if (made.ok && skills) made.value.created.push(...(await installSkills(made.value.root)));
      // Listing indexes the new files as version 1.
      if (made.ok) await withApp({ dir: made.value.root }, (app) => app.entries.list());
      print(common(), made, (r) =>
        [
          `${r.repository === "new" ? "new repository and workspace" : "workspace"} in ${r.root}`,
          ...r.created.map((path) => `  ${green("+")} ${path}`),
          ...(r.kept.length > 0 ? [dim(`  ${plural(r.kept.length, "file")} there already, left alone`)] : []),
          "",
          "Next:",
          "  scriptorium entry list                what there is",
          "  scriptorium serve                     read it in a browser",
          "  scriptorium mcp --role <role>         the command to give to an agent",
        ].join("\n"),
      );
    });

export const statusCommand = (common: () => Common) =>
  new Command("status")
    .description(status.summary)
    .action(() =>
      report(common(), status, {}, (s) =>
        [
          `${s.name} in ${s.root}`,
          `${plural(s.written, "entry", "entries")} written of ${s.entries}, ${plural(s.sources, "source")}`,
          `entries in ${s.store}, ${s.database}`,
          s.open_proposals > 0
            ? `${plural(s.open_proposals, "proposal")} waiting for you: scriptorium proposal list`
            : "nothing waits for you",
          ...(s.unrecorded > 0 ? [`${plural(s.unrecorded, "version")} on the way into git`] : []),
        ].join("\n"),
      ),
    );
