import { Command } from "@commander-js/extra-typings";
import { applyRetention } from "../doctor/retention.ts";
import { showSizes } from "../doctor/sizes.ts";
import { status } from "../doctor/status.ts";
import { type Common, report } from "./session.ts";
import { inertly, plural } from "./text.ts";

export const statusCommand = (common: () => Common) =>
  new Command("status")
    .description(status.summary)
    .option("--sizes", "show how much space the database, git, logs and working folders take")
    .action(({ sizes }) => (sizes ? reportSizes(common()) : reportStatus(common())));

const reportStatus = (common: Common) =>
  report(common, status, {}, (s) =>
    [
      `${s.name} in ${s.root}`,
      `${plural(s.written, "entry", "entries")} written of ${s.entries}, ${plural(s.sources, "source")}`,
      `entries in ${s.store}, ${s.database}`,
      s.open_proposals > 0
        ? `${plural(s.open_proposals, "proposal")} waiting for you: scriptorium proposal list`
        : "nothing to review",
      ...(s.settings_to_allow > 0
        ? [`${plural(s.settings_to_allow, "setting")} not allowed yet: scriptorium allow`]
        : []),
      ...(s.unrecorded > 0 ? [`${plural(s.unrecorded, "version")} not in git yet`] : []),
    ].join("\n"),
  );

const reportSizes = (common: Common) =>
  report(common, showSizes, {}, ({ database, git, folders }) =>
    [...rowsOf("database", database), ...rowsOf("git", git), ...rowsOf(".scriptorium", folders)].join("\n"),
  );

export const retentionCommand = (common: () => Common) =>
  new Command("retention")
    .description(applyRetention.summary)
    .option("--dry-run", "only show what would be packed and deleted")
    .action(({ dryRun }) =>
      report(common(), applyRetention, { dry_run: dryRun }, (r) => {
        const does = (done: string, would: string) => (r.applied ? done : would);
        return [
          `${plural(r.archived_events, "event")} ${does("archived", "to archive")}`,
          `${plural(r.deleted_logs, "log")} of agents ${does("deleted", "to delete")}, ${bytesText(r.log_bytes)}`,
          `${plural(r.cleaned_runs.length, "run")} ${does("cleaned", "to clean")}`,
          r.git_maintained ? `git ${does("packed its objects", "would pack its objects")}` : "git needs no maintenance",
        ].join("\n");
      }),
    );

const rowsOf = (head: string, parts: { name: string; bytes: number }[]) => [
  `${head}: ${bytesText(parts.reduce((sum, { bytes }) => sum + bytes, 0))}`,
  ...parts
    .filter(({ bytes }) => bytes > 0)
    .map(({ name, bytes }) => `  ${bytesText(bytes).padStart(10)}  ${inertly(name)}`),
];

const bytesText = (bytes: number) =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
