import * as z from "zod";
import { noAgent } from "../agents/no-agent.ts";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { personaName, sourcePath } from "../review/perspectives/operations.ts";
import { personaOf } from "../review/perspectives/personas.ts";
import { skillSha, staleBecause } from "../review/perspectives/perspectives.ts";
import type { JobsApp } from "./jobs-app.ts";
import { checkRequest } from "./material.ts";

export const refreshPerspective = operation({
  name: "refresh_perspective",
  summary: "Start an agent that rewrites a page for a persona, unless the perspective is up to date or in progress.",
  effect: "writes",
  touches: ["job", "perspective"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/perspectives/refresh" },
  input: z.object({
    source_path: sourcePath,
    persona: personaName,
    force: z.boolean().default(false).describe("Also if the perspective is up to date"),
  }),
  output: z.object({
    status: z.enum(["fresh", "running", "started"]),
    job_id: z.string().nullable().describe("Id of the job; null if there is nothing to do"),
  }),
  async run(app: JobsApp, { source_path, persona, force }, caller) {
    const found = await personaOf(app, source_path, persona);
    if (!found.ok) return found;
    const key = { sourceSha: found.value.page.blob, personaSha: found.value.sha, skillSha: skillSha() };
    const best = await app.perspectives.best(source_path, persona, key);
    if (!force && best && staleBecause(best, key).length === 0) return ok({ status: "fresh" as const, job_id: null });
    if (!app.config.agent) return noAgent();
    const trusted = app.config.trust.check("agents");
    if (!trusted.ok) return trusted;
    const request = await checkRequest(app, { kind: "perspective", source_path, persona_name: persona });
    if (!request.ok) return request;
    const started = await app.jobs.start({ ...request.value, by: nameOf(caller) });
    if (started.ok) return ok({ status: "started" as const, job_id: started.value.id });
    // Requests for the same perspective share one job.
    const same = (await app.jobs.inFlight()).find(
      (job) => job.source_path === source_path && job.kind === "perspective" && job.persona_name === persona,
    );
    return same ? ok({ status: "running" as const, job_id: same.id }) : started;
  },
});
