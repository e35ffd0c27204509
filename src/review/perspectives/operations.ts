import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { everyone, operation, people, writers } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { checkText } from "../../wiki/contract.ts";
import { textNamed } from "../proposals/base.ts";
import type { ReviewApp } from "../review-app.ts";
import { personaOf, personasFor } from "./personas.ts";
import { skillSha, staleBecause } from "./perspectives.ts";

export const sourcePath = z.string().max(1000).describe("Path of the page, such as docs/deploy.md");
export const personaName = z.string().max(100).describe("Name of the persona");
const sha = z.string().max(64);

const persona = z.object({
  name: z.string(),
  description: z.string(),
  guidance: z.string().optional(),
  persona_sha: z.string().describe("Hash of the definition, for put_perspective"),
  from: z.enum(["workspace", "page"]),
});

export const listPersonas = operation({
  name: "list_personas",
  summary: "List the personas that a page can be rewritten for.",
  effect: "reads",
  reads: ["perspective", "page", "entry"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/personas" },
  input: z.object({ source_path: sourcePath.optional() }),
  output: z.object({ personas: z.array(persona) }),
  async run(app: ReviewApp, { source_path }) {
    const page = source_path === undefined ? undefined : await app.pages.read(source_path);
    if (page && !page.ok) return page;
    const personas = personasFor(app, page?.value);
    if (!personas.ok) return personas;
    return ok({ personas: personas.value.map(({ sha, ...rest }) => ({ ...rest, persona_sha: sha })) });
  },
});

export const getPersona = operation({
  name: "get_persona",
  summary: "Read a persona: the reader that a page is rewritten for.",
  guidance:
    "Returns who they are and how to write for them, and the persona_sha and source_sha that put_perspective needs.",
  effect: "reads",
  reads: ["perspective", "page", "entry"],
  callers: everyone,
  group: "review",
  http: { method: "get", path: "/personas/{name}" },
  input: z.object({ source_path: sourcePath, name: personaName }),
  output: persona.extend({ source_path: z.string(), source_sha: z.string().describe("Git blob of the current page") }),
  async run(app: ReviewApp, { source_path, name }) {
    const found = await personaOf(app, source_path, name);
    if (!found.ok) return found;
    const { page, sha, ...rest } = found.value;
    return ok({ ...rest, persona_sha: sha, source_path, source_sha: page.blob });
  },
});

export const putPerspective = operation({
  name: "put_perspective",
  summary: "Save a page that you rewrote for a persona.",
  guidance:
    "Send the entire text with the source_sha and persona_sha from get_persona. The page itself does not change. " +
    "`conflict`: the persona changed; call get_persona and rewrite it.",
  effect: "writes",
  touches: ["perspective"],
  callers: writers,
  group: "crew",
  audience: "job",
  http: { method: "put", path: "/perspectives" },
  input: z.object({
    source_path: sourcePath,
    persona: personaName,
    source_sha: sha.describe("The source_sha from get_persona"),
    persona_sha: sha.describe("The persona_sha from get_persona"),
    content: z.string().describe("The page rewritten for this reader, in markdown"),
  }),
  output: z.object({
    status: z.literal("success"),
    stale: z.boolean().describe("true if the page changed in between"),
  }),
  async run(app: ReviewApp, asked, caller) {
    const found = await personaOf(app, asked.source_path, asked.persona);
    if (!found.ok) return found;
    const { page, sha: personaSha } = found.value;
    if (asked.persona_sha !== personaSha) {
      return refuse("conflict", `the description of persona ${asked.persona} changed; write the page for the new one`, {
        persona_sha: personaSha,
        next: [{ operation: "get_persona", input: { name: asked.persona, source_path: asked.source_path } }],
      });
    }
    const { db, git, entries, files } = app;
    const known = await textNamed({ db, git, entries, onDisk: files !== undefined }, page, asked.source_sha);
    if (known === undefined) {
      const message = `source_sha ${asked.source_sha} is not a known version of ${page.path}; the current version is ${page.blob}`;
      return refuse("invalid", message, { source_sha: page.blob });
    }
    const text = asked.content.replaceAll("\r\n", "\n");
    const sound = checkText(text);
    if (!sound.ok) return sound;
    if (text.trim() === "" || /\p{Surrogate}/u.test(text)) {
      return refuse("invalid", "the text is empty or not UTF-8; send the whole text of the perspective");
    }
    const key = { sourceSha: asked.source_sha, personaSha, skillSha: skillSha() };
    const jobId = caller.kind === "agent" ? (caller.job ?? null) : null;
    await app.perspectives.put({ path: page.path, persona: asked.persona, ...key, text, jobId }, nameOf(caller));
    return ok({ status: "success" as const, stale: asked.source_sha !== page.blob });
  },
});

export const showPerspective = operation({
  name: "show_perspective",
  summary: "Read a page rewritten for a persona, and whether it is up to date.",
  effect: "reads",
  reads: ["perspective", "job", "page", "entry"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/perspectives" },
  input: z.object({ source_path: sourcePath, persona: personaName }),
  output: z.object({
    source_path: z.string(),
    persona: z.string(),
    content: z.string(),
    stale: z.boolean(),
    because: z.array(z.enum(["page", "persona", "skill"])).describe("What changed since it was written"),
    source_sha: z.string(),
    persona_sha: z.string(),
    at: z.string(),
    job_id: z.string().nullable(),
  }),
  async run(app: ReviewApp, { source_path, persona }) {
    const found = await personaOf(app, source_path, persona);
    if (!found.ok) return found;
    const key = { sourceSha: found.value.page.blob, personaSha: found.value.sha, skillSha: skillSha() };
    const best = await app.perspectives.best(source_path, persona, key);
    if (!best) {
      return refuse("not_found", `${source_path} has no perspective for ${persona} yet`, {
        next: [{ operation: "refresh_perspective", input: { source_path, persona }, to: "have it written" }],
      });
    }
    const because = staleBecause(best, key);
    const { path, text, sourceSha: source_sha, personaSha: persona_sha, at, jobId: job_id } = best;
    return ok({
      source_path: path,
      persona,
      content: text,
      stale: because.length > 0,
      because,
      source_sha,
      persona_sha,
      at,
      job_id,
    });
  },
});
