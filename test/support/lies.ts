import type { Use } from "./crew.ts";

/** A file of a deliverable whose every line has numbers, and some of whose lines are negated. */
export const tableLines = Array.from({ length: 30 }, (_, i) =>
  i % 5 === 4
    ? `not ok ${i} - step ${i} of the import`
    : `row ${i}: ${1000 + 37 * i} of ${5000 + 91 * i} items imported`,
);
export const table = `${tableLines.join("\n")}\n`;
export const tablePath = "src/table.txt";

/** A file of a deliverable whose lines read otherwise as regular expressions. */
export const codeLines = [
  "export const run = (x) => eval(x);",
  "total[i] += price * (1 + rate);",
  "const size = a.b?.length ?? (c || d);",
  'console.log("left over");',
  "export const TODO_LIST = []; // TODO remove",
  "const path = name.replace(/^\\.+/, '$1');",
  "x = y ** 2 ^ mask | flag;",
];
export const codePath = "src/run.js";
/** A binary file and a file over the limit of search_files, each with a text that nothing else has. */
export const binary = { path: "src/data.bin", text: "the hidden password" };
export const large = { path: "src/large.txt", text: "the last words of it" };

/** The command with which a worker makes these files. */
export const makeFiles = [
  "sh",
  "-c",
  `printf 'head\\0 ${binary.text}\\n' > ${binary.path}; yes 'one of many lines' | head -c 3000000 > ${large.path}; echo '${large.text}' >> ${large.path}`,
];

export type Cited = { quote: string; from: string; ref?: string; lines?: string; absent?: boolean; criterion?: number };

/** The calls that a lying verifier may name: its own, and those of others. */
export type Ids = { read: string; ran: string; searched: string; found: string; others: string[] };

/** Calls a verifier makes before it lies about them. */
export async function look(use: Use): Promise<Omit<Ids, "others">> {
  const id = async (name: string, input: Record<string, unknown>) => String((await use(name, input)).call);
  return {
    read: await id("read_file", { path: tablePath }),
    ran: await id("run_command", { run: ["cat", tablePath] }),
    searched: await id("search_files", { pattern: "no such words anywhere" }),
    found: await id("search_files", { pattern: "items imported" }),
  };
}

const row = (seed: number) => {
  const index = (seed * 7) % 30;
  const line = index % 5 === 4 ? index - 1 : index;
  return { line: line + 1, text: tableLines[line] ?? "" };
};
const negated = (seed: number) => tableLines[(seed % 6) * 5 + 4] ?? "";

/** Changes one digit, another one for each seed. */
export function wrongDigit(text: string, seed: number): string {
  const digits = [...text.matchAll(/\d/g)];
  const at = digits[seed % digits.length]?.index ?? 0;
  return text.slice(0, at) + ((Number(text[at]) + 1 + (seed % 8)) % 10) + text.slice(at + 1);
}

type Lie = (seed: number, ids: Ids, use: Use) => Cited | Promise<Cited>;

const code = (seed: number) => codeLines[seed % codeLines.length] ?? "";
const escapedCode = (seed: number) => code(seed).replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
const part = (seed: number) => row(seed).text.replace(/^row \d+: /, "");

const file = (quote: string, more: Partial<Cited> = {}): Cited => ({ quote, from: "file", ref: tablePath, ...more });
const call = (quote: string, ref: string): Cited => ({ quote, from: "call", ref });

/** Citations that are absent from the record or contradict it, by kind. */
export const lies: Record<string, Lie> = {
  "a file that does not exist": (seed) => file(row(seed).text, { ref: `src/table-${seed}.txt` }),
  "a path outside the repository": (seed) => file(row(seed).text, { ref: `${"../".repeat(1 + (seed % 3))}etc/passwd` }),
  "words that are not in the file": (seed) => file(`all ${seed + 40} steps were imported`),
  "a file's number with another digit": (seed) => file(wrongDigit(row(seed).text, seed)),
  "a number without its last digit": (seed) => file(row(seed).text.replace(/^(row \d+: \d+)\d of.*$/, "$1")),
  "a number without its first digit": (seed) => file(row(seed).text.replace(/^row \d+: \d/, "")),
  "a line number that is wrong": (seed) => file(row(seed).text, { lines: String((row(seed).line % 30) + 1) }),
  "a line after the end": (seed) => file(row(seed).text, { lines: String(32 + seed) }),
  "lines that are not a range": (seed) => file(row(seed).text, { lines: ["9-3", "0", "all", "-4"][seed % 4] ?? "" }),
  "a result without its negation": (seed) => file(negated(seed).replace(/^not /, "")),
  "another case": (seed) => file(row(seed).text.toUpperCase()),
  "a call that was never made": (seed) => call(row(seed).text, `call-${seed}-invented`),
  "the call of another agent": (seed, { others }) => call(row(seed).text, others[seed % others.length] ?? "none"),
  "an answer's number with another digit": (seed, { read }) => call(wrongDigit(row(seed).text, seed), read),
  "an output's number with another digit": (seed, { ran }) => call(wrongDigit(row(seed).text, seed + 3), ran),
  "an answer to another question": (seed, { searched }) => call(row(seed).text, searched),
  "words of the prompt": (_seed, { read }) => call("Import the table with all of its rows.", read),
  "words of the prompt as a file": () => file("Import the table with all of its rows."),
  "the worker's words": () => ({ quote: "All 30 rows are imported and the tests pass.", from: "output" }),
  "the worker's words as a call": (_seed, { ran }) => call("All 30 rows are imported and the tests pass.", ran),
  "its own words, printed": async (seed, _ids, use) => {
    const said = `${seed + 20} tests passed, 0 failed`;
    return call(said, String((await use("run_command", { run: ["echo", said] })).call));
  },
  "its own words, written and read": async (seed, _ids, use) => {
    const said = `${seed + 20} tests passed, 0 failed`;
    await use("write_file", { path: "result.txt", content: `${said}\n` });
    return call(said, String((await use("read_file", { path: "result.txt" })).call));
  },
  "its own file, as delivered": async (seed, _ids, use) => {
    await use("write_file", { path: tablePath, content: `${table}row 30: ${seed} of ${seed} items imported\n` });
    return file(`row 30: ${seed} of ${seed} items imported`);
  },
  "words that the check never printed": (seed) => ({ quote: `${seed + 2} rows checked`, from: "check", ref: "2" }),
  "the check of a criterion without one": () => ({ quote: "exit code 0", from: "check" }),
  "a trivial quote": (seed) => file(["ok", "yes", "row", "30", " "][seed % 5] ?? ""),
  "a missing file as proof of success": (seed) => file("", { ref: `todo-${seed}.txt`, absent: true }),
  "a search that found something as absence": (_seed, { found }) => ({
    ...call("items imported", found),
    absent: true,
  }),
  "absence of words that were not searched for": (seed, { searched }) => ({
    ...call(`defect ${seed} remains`, searched),
    absent: true,
  }),
  ...absences(),
  "evidence for a criterion that does not exist": (seed) => file(row(seed).text, { criterion: 3 + (seed % 5) }),
  "lines of a call": (seed, { read }) => ({ ...call(row(seed).text, read), lines: "4" }),
};

/** Texts and files that are there, cited as absent. */
function absences(): Record<string, Lie> {
  const gone = (cited: Cited): Cited => ({ ...cited, absent: true });
  const after =
    (quoteOf: (seed: number) => string, calls: (seed: number) => [string, Record<string, unknown>][]): Lie =>
    async (seed, _ids, use) => {
      let ref = "";
      for (const [name, input] of calls(seed)) ref = String((await use(name, input)).call);
      return gone(call(quoteOf(seed), ref));
    };
  const ran = (...run: string[]): [string, Record<string, unknown>] => ["run_command", { run }];
  return {
    "absence in another folder": after(part, (seed) => [
      ["search_files", { pattern: part(seed), literal: true, under: "docs" }],
    ]),
    "absence in files of another name": after(part, (seed) => [
      ["search_files", { pattern: part(seed), literal: true, glob: "*.md" }],
    ]),
    "absence after a search for an unescaped pattern": after(code, (seed) => [
      ["search_files", { pattern: code(seed), under: "docs" }],
    ]),
    "absence of an escaped pattern as text": after(
      (seed) => (seed % 2 ? escapedCode(seed) : "eval\\(x\\)"),
      (seed) => [["search_files", { pattern: seed % 2 ? escapedCode(seed) : "eval\\(x\\)", under: "docs" }]],
    ),
    "absence of alternatives as text": after(
      () => "TODO|FIXME",
      () => [["search_files", { pattern: "TODO|FIXME", under: "docs" }]],
    ),
    "absence in a file that it overwrote": after(part, (seed) => [
      ["write_file", { path: tablePath, content: `nothing ${seed}\n` }],
      ["search_files", { pattern: part(seed), literal: true }],
    ]),
    "absence in a file that it deleted": after(code, (seed) => [
      ran("rm", "-f", codePath),
      ["search_files", { pattern: code(seed), literal: true }],
    ]),
    "absence in the wiki": after(part, (seed) => [["search_entries", { query: part(seed) }]]),
    "absence in the graph": after(part, (seed) => [["memory_search_nodes", { query: part(seed) }]]),
    "absence in a list of files": after(part, (seed) => [["list_files", { glob: part(seed) }]]),
    "absence of a path in another folder": after(
      () => "table.txt",
      () => [["list_files", { under: "docs", glob: "table.txt" }]],
    ),
    "absence by a command that prints nothing": after(part, (seed) => [ran("true", part(seed))]),
    "absence by grep -q": after(part, (seed) => [ran("grep", "-rqF", part(seed), ".")]),
    "absence by grep in another folder": after(part, (seed) => [ran("sh", "-c", `grep -rF '${part(seed)}' docs`)]),
    "absence from a file that has it": (seed) => gone(file(part(seed))),
    "absence from a folder that has it": (seed) => gone(file(code(seed), { ref: seed % 2 ? "src" : "./src/" })),
    "absence from all files": (seed) => gone(file(code(seed), { ref: "" })),
    "absence from other lines": (seed) => gone(file(part(seed), { lines: String((row(seed).line % 30) + 1) })),
    "absence with other white space": (seed) => gone(file(part(seed).replaceAll(" ", seed % 2 ? "  " : "\n"))),
    "absence from a binary file": (seed) => gone(file(binary.text, { ref: seed % 2 ? binary.path : "" })),
    "absence from a large file": (seed) => gone(file(large.text, { ref: seed % 2 ? large.path : "" })),
    "absence from a folder that does not exist": (seed) => gone(file(part(seed), { ref: `docs-${seed}` })),
    "a file that exists as missing": (seed) => gone(file("", { ref: [tablePath, "src", large.path][seed % 3] ?? "" })),
    "absence from the worker's words": (seed) => gone({ quote: part(seed), from: "output" }),
  };
}
