import * as z from "zod";
import type { CrewApp } from "../crew/record/crew-app.ts";
import { operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { appendEvent } from "../store/events.ts";
import { examine } from "./doctor.ts";
import { diagnose, diagnosis, type Finding } from "./finding.ts";
import { repairFiles } from "./repair/files.ts";
import { repairHistory } from "./repair/history.ts";
import { repairHistoryRef } from "./repair/history-ref.ts";
import { repairIndex } from "./repair/index-rows.ts";
import type { Repaired } from "./repair/repair.ts";
import { repairTexts } from "./repair/texts.ts";
import { repairVersions } from "./repair/versions.ts";

/** In this order: a later repair needs what an earlier one brings back. */
const repairs = [repairHistoryRef, repairTexts, repairVersions, repairHistory, repairIndex, repairFiles];

const repaired = z.object({ subject: z.string(), before: z.string(), after: z.string() });

/** Repairs what can be repaired without losing anything. Events and texts that contradict each other are left. */
export const doctorFix = operation({
  name: "doctor_fix",
  summary: "Repair what doctor found and what can be repaired without losing anything.",
  effect: "writes",
  touches: ["entry", "section", "source", "task"],
  callers: ["admin"],
  group: "admin",
  decision: true,
  http: { method: "post", path: "/doctor/fix" },
  input: z.object({}),
  output: diagnosis.extend({ repaired: z.array(repaired).describe("What was repaired, in this order") }),
  async run(app: CrewApp, _input, caller) {
    const done: Repaired[] = [];
    let found = await examine(app);
    for (const { kinds, run } of repairs) {
      const open = found.filter((one) => isOpen(one) && kinds.includes(one.kind));
      if (open.length === 0) continue;
      const now = await run(app, open);
      done.push(...now);
      if (now.length > 0) found = await examine(app);
    }
    if (done.length > 0) {
      const by = caller.kind === "person" ? caller.name : caller.role;
      const event = { at: app.now().toISOString(), actor: by, kind: "index-repaired" as const, subject: "wiki" };
      await app.db.write((tx) => appendEvent(tx, { ...event, data: { repaired: done } }));
    }
    return ok({ ...diagnose(found), repaired: done });
  },
});

const isOpen = ({ state, acknowledged }: Finding) =>
  (state === "problem" || state === "warning") && acknowledged === undefined;
