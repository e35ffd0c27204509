import * as z from "zod";
import { waitingItems } from "../config/trust-items.ts";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation, people } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { countUnrecorded } from "../store/queries/git-queue.ts";

export const status = operation({
  name: "status",
  summary: "Show the contents of the workspace and what waits for a decision.",
  effect: "reads",
  reads: ["entry", "source", "proposal", "setting"],
  callers: people,
  group: "admin",
  http: { method: "get", path: "/status" },
  input: z.object({}),
  output: z.object({
    name: z.string(),
    root: z.string(),
    store: z.string(),
    database: z.string(),
    entries: z.int(),
    written: z.int(),
    sources: z.int(),
    open_proposals: z.int(),
    settings_to_allow: z.int().describe("Settings of the repository that nobody has allowed on this machine"),
    unrecorded: z.int().describe("Versions that are not in git yet"),
  }),
  async run(app: CrewApp) {
    const entries = await app.entries.list();
    const [sources, proposals, waiting] = await Promise.all([
      app.sources.list(),
      app.proposals.list("open"),
      waitingItems(app.config),
    ]);
    return ok({
      name: app.config.name,
      root: app.config.root,
      store: app.config.store,
      database: app.db.engine,
      entries: entries.length,
      written: entries.filter((entry) => entry.wordCount > 0).length,
      sources: sources.length,
      open_proposals: proposals.length,
      settings_to_allow: waiting.reduce((sum, { changes }) => sum + changes.length, 0),
      unrecorded: await countUnrecorded(app.db.read),
    });
  },
});
