import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { suggest } from "../../kernel/nearest.ts";
import { packageFile } from "../../kernel/package-files.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { readYaml } from "../../kernel/yaml.ts";
import { readInside } from "../../wiki/pages/pages.ts";
import { fillTemplate, missingValues, placeholdersIn, type TemplateParameter } from "../rules/fill-template.ts";

/** Where a workspace has its own templates; agents' changes there wait for a person (kernel/steering-files.ts). */
export const templatesFolder = "runs/templates";

export type RequestTemplate = {
  name: string;
  title: string;
  description: string;
  parameters: TemplateParameter[];
  text: string;
  /** The file, if the template is the workspace's own. */
  file: string | null;
};

const maxBytes = 64 * 1024;
const mostTemplates = 100;
const fileName = /^[a-z0-9][a-z0-9-]{0,62}\.md$/;

const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .regex(/^[^\n]*$/, "expected one line");
const header = z.strictObject({
  title: line(80),
  description: line(200).optional(),
  parameters: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z][a-z0-9_-]{0,30}$/, "expected a name such as page"),
        label: line(80).optional(),
        hint: line(200).optional(),
        optional: z.boolean().default(false),
        long: z.boolean().default(false),
      }),
    )
    .max(20)
    .default([]),
});

/** A template: YAML between two lines `---`, then the text of the request with `{{name}}` for each parameter. */
export function parseTemplate(name: string, content: string, file: string | null): Result<RequestTemplate> {
  const shown = file ?? `${name}.md`;
  const parts = /^---\n([\s\S]*?\n)---\n([\s\S]*)$/.exec(content.replaceAll("\r\n", "\n").replace(/^\ufeff/, ""));
  if (!parts) return refuse("invalid", `${shown}: expected title and parameters between two lines "---"`);
  const [, head = "", body = ""] = parts;
  // The first line keeps its place, so that errors name the line of the file.
  const read = readYaml(`\n${head}`, header, { file: shown, maxBytes });
  if (!read.ok) return read;
  const { title, description = "", parameters } = read.value.value;
  const names = parameters.map((parameter) => parameter.name);
  const used = placeholdersIn(body);
  const unknown = used.find((one) => !names.includes(one));
  if (unknown !== undefined) return refuse("invalid", `${shown}: {{${unknown}}} is not in parameters`);
  const unused = names.find((one, at) => !used.includes(one) || names.indexOf(one) !== at);
  if (unused !== undefined)
    return refuse("invalid", `${shown}: the parameter ${unused} must be in the list once and in the text`);
  if (body.trim() === "") return refuse("invalid", `${shown}: the text of the request is missing after "---"`);
  return ok({
    ...{ name, title, description, text: body.trim(), file },
    parameters: parameters.map(({ label, hint, ...rest }) => ({
      ...rest,
      label: label ?? rest.name,
      hint: hint ?? null,
    })),
  });
}

const bundled = () => fileURLToPath(packageFile("templates/requests/"));

/** The templates of the workspace, then those of Scriptorium with other names; and what is wrong with a file. */
export function requestTemplates(root: string): { templates: RequestTemplate[]; problems: string[] } {
  const problems: string[] = [];
  const templates: RequestTemplate[] = [];
  const take = (read: Result<RequestTemplate>) => {
    if (read.ok) templates.push(read.value);
    else problems.push(read.problem.message);
  };
  for (const file of filesIn(join(root, templatesFolder)).slice(0, mostTemplates)) {
    const path = `${templatesFolder}/${file}`;
    const bytes = readInside(root, path, "template");
    take(bytes.ok ? parseTemplate(file.slice(0, -3), bytes.value.toString("utf8"), path) : bytes);
  }
  const own = new Set(templates.map(({ name }) => name));
  for (const file of filesIn(bundled())) {
    const name = file.slice(0, -3);
    if (!own.has(name)) take(parseTemplate(name, readFileSync(join(bundled(), file), "utf8"), null));
  }
  return { templates, problems };
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => fileName.test(name))
      .sort();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

type Wanted = { template: string; values: Record<string, string>; request: string | undefined };

/** The request that a template makes. A request given beside it is the value of its first parameter. */
export function requestFrom(root: string, { template: name, values: given, request }: Wanted): Result<string> {
  const { templates, problems } = requestTemplates(root);
  const template = templates.find((one) => one.name === name);
  if (!template) {
    const broken = problems.find((problem) => problem.startsWith(`${templatesFolder}/${name}.md`));
    if (broken !== undefined) return refuse("invalid", broken);
    const names = templates.map((one) => one.name);
    return refuse("not_found", `template ${name} does not exist; ${suggest(name, names)}`);
  }
  const names = template.parameters.map((parameter) => parameter.name);
  const [first] = names;
  if (request !== undefined && (first === undefined || Object.hasOwn(given, first)))
    return refuse("invalid", `template ${name} already has its first value; leave out the request or that value`);
  const values = request === undefined || first === undefined ? given : { ...given, [first]: request };
  const unknown = Object.keys(values).find((one) => !names.includes(one));
  if (unknown !== undefined)
    return refuse("invalid", `template ${name} has no parameter ${unknown}; ${suggest(unknown, names)}`);
  const missing = missingValues(template.parameters, values);
  if (missing.length > 0)
    return refuse(
      "invalid",
      `template ${name} needs ${missing.map((one) => `${one.name} (${one.label.toLowerCase()})`).join(", ")}`,
      { missing: missing.map((one) => one.name) },
    );
  return ok(fillTemplate(template.text, values));
}
