import { attacksPage } from "./attacks.ts";
import { cliPage, scribePage } from "./commands.ts";
import { configurationPage, schemaPage } from "./keys.ts";
import { environmentPage, eventsPage } from "./lists.ts";
import { llmsText } from "./llms.ts";
import { httpPage, operationsPage } from "./operations.ts";

/**
 * The generated files of docs/, by path: the reference, from operations, schemas and commands themselves, and
 * llms.txt, from the sidebar and the pages.
 */
export async function generatedPages(docs: string): Promise<Record<string, string>> {
  const pages = Object.entries(await referencePages(docs)).map(([name, text]) => [`reference/${name}`, text] as const);
  return { ...Object.fromEntries(pages), "public/llms.txt": llmsText(docs) };
}

const referencePages = async (docs: string): Promise<Record<string, string>> => ({
  "attacks.md": attacksPage(docs),
  "cli.md": await cliPage(),
  "configuration.md": configurationPage(),
  "environment.md": environmentPage(),
  "events.md": eventsPage(),
  "http.md": httpPage(),
  "operations.md": operationsPage(),
  "schema.md": schemaPage(),
  "scribe.md": await scribePage(),
});
