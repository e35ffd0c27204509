import * as z from "zod";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { appendEvent } from "../store/events.ts";
import { acknowledgedFindings, saveAcknowledged } from "../store/queries/acknowledged.ts";
import { examine } from "./doctor.ts";
import { type Finding, finding } from "./finding.ts";

/** A person's decision: the finding is known, and no longer counts until its evidence changes. */
export const acknowledgeFinding = operation({
  name: "acknowledge_finding",
  summary: "Accept a finding of doctor as it is; it returns when it changes.",
  effect: "writes",
  touches: ["setting"],
  callers: ["admin"],
  group: "admin",
  decision: true,
  http: { method: "post", path: "/doctor/acknowledge" },
  input: z.object({
    id: z.string().max(64).describe("Id of the finding, from doctor"),
    note: z.string().trim().max(1000).default("").describe("Why it is acceptable"),
  }),
  output: finding,
  async run(app: CrewApp, { id, note }, caller) {
    const found = (await examine(app)).find((one) => one.id === id);
    if (!found || !isOpen(found)) {
      const known = (await acknowledgedFindings(app.db.read)).find((row) => row.id === id);
      const why = known ? `; it was acknowledged on ${known.at} and no longer occurs` : "";
      return refuse("not_found", `no problem or warning of this workspace has the id ${id}${why}; list them: doctor`);
    }
    const by = caller.kind === "person" ? caller.name : caller.role;
    const at = app.now().toISOString();
    const { kind, subject, message } = found;
    await app.db.write(async (tx) => {
      await saveAcknowledged(tx, { id, kind, subject, message, note, by_name: by, at });
      const data = { kind, subject, message, note };
      await appendEvent(tx, { at, actor: by, kind: "finding-acknowledged", subject: `finding:${id}`, data });
    });
    return ok({ ...found, acknowledged: { by, at, note } });
  },
});

const isOpen = ({ state }: Finding) => state === "problem" || state === "warning";
