import { ok, type Result } from "../../kernel/result.ts";
import { requireSection } from "../contract.ts";
import { findSection, type Schema } from "../schema.ts";
import { type PageReader, pagePath } from "./pages.ts";

type Deps = { schema(): Promise<Result<Schema>>; pages: PageReader };

/** `entry:<id>` or `page:<path>` for the id of an entry or the path of a page. */
export async function subjectOf({ schema, pages }: Deps, name: string): Promise<Result<string>> {
  const read = await schema();
  if (!read.ok) return read;
  if (findSection(read.value, name)) return ok(`entry:${name}`);
  const path = pagePath(name);
  if (!path.ok) return /\.(md|markdown)$/.test(name) ? path : (requireSection(read.value, name) as Result<never>);
  const entry = await pages.entryId(path.value);
  if (entry !== undefined) return ok(`entry:${entry}`);
  const page = await pages.read(path.value);
  return page.ok ? ok(`page:${path.value}`) : page;
}
