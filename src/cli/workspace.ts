import { Command } from "@commander-js/extra-typings";
import { status } from "../doctor/status.ts";
import { type Common, report } from "./session.ts";
import { plural } from "./text.ts";

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
            : "nothing to review",
          ...(s.settings_to_allow > 0
            ? [`${plural(s.settings_to_allow, "setting")} not allowed yet: scriptorium allow`]
            : []),
          ...(s.unrecorded > 0 ? [`${plural(s.unrecorded, "version")} not in git yet`] : []),
        ].join("\n"),
      ),
    );
