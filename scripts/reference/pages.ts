import { cliPage, scribePage } from "./commands.ts";
import { configurationPage, schemaPage } from "./keys.ts";
import { environmentPage, eventsPage } from "./lists.ts";
import { httpPage, operationsPage } from "./operations.ts";

/** The pages of docs/reference/ by file name, made from the operations, schemas and commands themselves. */
export const referencePages = async (): Promise<Record<string, string>> => ({
  "cli.md": await cliPage(),
  "configuration.md": configurationPage(),
  "environment.md": environmentPage(),
  "events.md": eventsPage(),
  "http.md": httpPage(),
  "operations.md": operationsPage(),
  "schema.md": schemaPage(),
  "scribe.md": await scribePage(),
});
