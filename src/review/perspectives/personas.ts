import * as z from "zod";
import { type Persona, personaFrom, personaList } from "../../config/persona.ts";
import { suggest } from "../../kernel/nearest.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { readYaml } from "../../kernel/yaml.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import { parseDocument } from "../../wiki/stores/document.ts";
import type { ReviewApp } from "../review-app.ts";

const frontmatter = z.looseObject({ personas: personaList.optional() });

/** The personas of a page: those in its frontmatter first, then those of the workspace. */
export function personasFor(app: ReviewApp, page: Page | undefined): Result<Persona[]> {
  const own = page ? ownPersonas(page) : ok([]);
  if (!own.ok) return own;
  const names = new Set(own.value.map((persona) => persona.name));
  const shared = app.config.personas.map((definition) => personaFrom(definition, "workspace"));
  return ok([...own.value, ...shared.filter((persona) => !names.has(persona.name))]);
}

export async function personaOf(app: ReviewApp, path: string, name: string): Promise<Result<Persona & { page: Page }>> {
  const page = await app.pages.read(path);
  if (!page.ok) return page;
  const personas = personasFor(app, page.value);
  if (!personas.ok) return personas;
  const found = personas.value.find((persona) => persona.name === name);
  if (found) return ok({ ...found, page: page.value });
  const known = personas.value.map((persona) => persona.name);
  const hint =
    known.length > 0
      ? suggest(name, known)
      : "define one under personas: in scriptorium.yaml or in the page's frontmatter";
  return refuse("not_found", `${path} has no persona ${JSON.stringify(name)}; ${hint}`);
}

function ownPersonas(page: Page): Result<Persona[]> {
  const { front } = parseDocument(Buffer.from(page.text));
  if (front === undefined) return ok([]);
  const read = readYaml(front, frontmatter, { file: page.path, maxBytes: 64 * 1024 });
  if (read.ok) return ok((read.value.value.personas ?? []).map((definition) => personaFrom(definition, "page")));
  return read;
}
