import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { code, page, table } from "./markdown.ts";

/** The rows of the tables in docs/security.md: `| T12, T13 | threat | defence |`. */
export function threatsOf(docs: string): Map<string, string> {
  const rows = readFileSync(join(docs, "security.md"), "utf8").matchAll(/^\| ((?:[TS]\d+(?:, )?)+) \| (.+?) \|/gm);
  return new Map([...rows].flatMap(([, ids = "", threat = ""]) => ids.split(", ").map((id) => [id, threat] as const)));
}

export type Attack = { ids: string[]; name: string; file: string };

/** The tests and suites whose names start with the id of a threat. */
export function attacksIn(root: string): Attack[] {
  const files = ["test", "src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .map((path) => `${folder}/${path}`),
  );
  return files.sort().flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(named)].flatMap(([, ids = "", name = ""]) => {
      const threats = ids.split(", ").filter((id) => /^[TS]\d/.test(id));
      return threats.length === 0 ? [] : [{ ids: threats, name: name.replaceAll('\\"', '"'), file }];
    }),
  );
}

const named = /\b(?:test|describe)\b[^"`\n]{0,80}\(\s*["`]((?:[A-Z]\d+(?:, )?)+): ((?:[^"`\\]|\\.)+)/g;

export function attacksPage(docs: string): string {
  const threats = threatsOf(docs);
  const attacks = attacksIn(join(docs, ".."));
  const rows = [...threats].flatMap(([id, threat]) =>
    attacks.filter(({ ids }) => ids.includes(id)).map(({ name, file }) => [id, threat, name, code(file)]),
  );
  return page(
    "Attacks",
    "The tests that attack Scriptorium, by threat. [Security model](../security.md) describes the defences. Run the tests of one threat with `npx vitest run -t T13`, all of them with `npm run prove -- --only attacks`.",
    table(["", "threat", "test", "file"], rows),
  );
}
