import { expect, test } from "vitest";
import type { Evidence } from "../../store/crew-tables.ts";
import { type AbsenceFacts, notAbsent, searchesFor, searchKey } from "./absence.ts";

const item = (more: Partial<Evidence>): Evidence => ({
  ...{ criterion: 1, met: true, absent: true, quote: "", from: "file", ref: "", lines: "" },
  ...more,
});
const search = { id: "call-1", name: "search_files", ok: true, output: "{}", cut: false };
const calls = [
  { ...search, input: '{"pattern":"eval\\\\(x\\\\)"}' },
  { ...search, id: "call-2", input: '{"pattern":"a|b","literal":true}' },
  { ...search, id: "call-3", name: "run_command", input: '{"run":["grep","-rn","FIXME","src"]}' },
  { ...search, id: "call-4", name: "list_files", input: '{"glob":"FIXME"}' },
];
const delivered: Record<string, string> = { "src/a.ts": "run(x); // TODO", "docs/a.md": "eval(x)" };

/** Facts as a search of these files gives them. */
function factsFor(evidence: Evidence, more: Partial<AbsenceFacts> = {}): AbsenceFacts {
  const searches = searchesFor([evidence]).map(({ path, text }) => {
    const within = Object.keys(delivered).filter((one) => path === "" || one === path || one.startsWith(`${path}/`));
    const found = within.find((one) => text !== "" && delivered[one]?.includes(text));
    const result = { exists: path === "" || within.length > 0, found: found ? { path: found, certain: true } : null };
    return [searchKey({ path, text }), result] as const;
  });
  const none = { checks: new Map(), files: new Map(), text: null, changed: new Set(["old.ts"]) };
  return { ...none, calls, searches: new Map(searches), ...more };
}

test.each<[string, Partial<Evidence>, RegExp | undefined]>([
  ["a text that the files lack", { quote: "FIXME" }, undefined],
  ["a text that a file has", { quote: "TODO" }, /src\/a\.ts contains the quote/],
  ["a text that another file has", { quote: "TODO", ref: "docs" }, undefined],
  ["a folder that is not there", { quote: "TODO", ref: "doc" }, /not a file or folder/],
  ["a path outside", { quote: "TODO", ref: "../other" }, /not a file or folder/],
  ["a pattern", { quote: "eval\\(x\\)", ref: "src" }, /looks like a regular expression/],
  ["alternatives", { quote: "TODO|FIXME", ref: "docs" }, /looks like a regular expression/],
  ["code with brackets", { quote: "a[0]?.b || c()", ref: "src" }, undefined],
  ["a search with escapes, for a text that is there", { quote: "eval(x)", from: "call", ref: "call-1" }, /docs\/a\.md/],
  ["a literal search for what reads like a pattern", { quote: "a|b", from: "call", ref: "call-2" }, undefined],
  ["a command that prints nothing", { quote: "FIXME", from: "call", ref: "call-3" }, undefined],
  ["a command for other words", { quote: "XXX", from: "call", ref: "call-3" }, /did not search for the quote/],
  ["a list of files", { quote: "FIXME", from: "call", ref: "call-4" }, /does not search the deliverable/],
  ["a call of somebody else", { quote: "FIXME", from: "call", ref: "call-9" }, /you made no call/],
  ["a file that the deliverable deleted", { ref: "old.ts" }, undefined],
  ["a file that never was", { ref: "new.ts" }, /did not delete it/],
  ["a missing file as a failure", { ref: "new.ts", met: false }, undefined],
  ["a folder as a missing file", { ref: "src", met: false }, /src exists/],
  ["no words", { from: "call", ref: "call-1" }, /quote is empty/],
])("W4: absence of %s", (_name, cited, why) => {
  const evidence = item(cited);
  const said = notAbsent(evidence, factsFor(evidence));
  if (why) expect(said).toMatch(why);
  else expect(said).toBeUndefined();
});

test("W4: absence from a text is looked up in the text, whichever call is cited", () => {
  for (const cited of [{ from: "output" as const }, { from: "call" as const, ref: "call-3" }]) {
    const evidence = item({ quote: "FIXME", ...cited });
    expect(notAbsent(evidence, factsFor(evidence, { text: "All is done." }))).toBeUndefined();
    expect(notAbsent(evidence, factsFor(evidence, { text: "One FIXME is left." }))).toBe("the text contains the quote");
  }
});
