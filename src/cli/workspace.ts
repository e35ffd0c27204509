import { Command } from "@commander-js/extra-typings";
import { doctor, status } from "../doctor/doctor.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report, withApp } from "./session.ts";
import { shell } from "./shell.ts";
import { dim, green, plural, red, yellow } from "./text.ts";

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

export const doctorCommand = (common: () => Common) =>
  new Command("doctor")
    .description(doctor.summary)
    .option("--rebuild", "first make the index again from git")
    .action(async ({ rebuild }) => {
      if (rebuild) await withApp(common(), (app) => app.rebuild());
      const text = ({ findings }: Diagnosis) =>
        findings
          .map((f) => `${marks[f.level]}  ${f.check}: ${f.message}${f.fix ? dim(`\n         ${f.fix}`) : ""}`)
          .join("\n");
      const judged = (found: Diagnosis) => {
        if (!found.healthy) shell().exitCode = 1;
        return found;
      };
      await report(common(), doctor, {}, { text: (found) => text(judged(found)), json: judged });
    });

type Diagnosis = OutputOf<typeof doctor>;

const marks = { ok: green("ok     "), warning: yellow("warning"), problem: red("problem") };
