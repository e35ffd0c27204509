/** Paths and contents of a repository, or of the files that a change writes. */
export type Files = Record<string, string>;

/** A feature as one worker builds it: the files it writes when it sees the base. */
export type Feature = {
  what: string;
  /** Its own test and its files, written on the base. */
  alone: Files;
};

/**
 * Two features on one repository. `both` is what a worker writes that finds the other feature merged: all files as
 * they must be with both. A careless worker first repeats what it wrote alone.
 */
export type Pair = {
  name: string;
  kind: string;
  base: Files;
  a: Feature;
  b: Feature;
  both: Files;
  careless: boolean;
  /** The two requests exclude each other: at most one can be accepted. */
  contradicts?: true;
};

type Module = {
  name: string;
  /** The function that sums a field up, the field, and the words around it. */
  sum: string;
  field: string;
  row: string;
  kinds: [string, string];
  careless: boolean;
};

/** Modules as programs have them: a sum, a filter, a line of text, a table of kinds. */
const modules: Module[] = [
  { name: "cart", sum: "total", field: "price", row: "item", kinds: ["book", "toy"], careless: false },
  { name: "timesheet", sum: "worked", field: "hours", row: "entry", kinds: ["office", "travel"], careless: false },
  { name: "inventory", sum: "stock", field: "count", row: "part", kinds: ["screw", "board"], careless: true },
];

/** The parts of a module's file; a change replaces some of them. */
type Parts = { imports: string; head: string; sum: string; largest: string; line: string; end: string };

const partsOf = ({ sum, field, row }: Module): Parts => ({
  imports: `import { add } from "./add.js";\n`,
  head: `/** Rows as they are read from a file. */\nexport const parse = (text) => JSON.parse(text);\n`,
  sum: `/** The ${field} of all rows together. */
export function ${sum}(rows) {
  const values = rows.map((${row}) => ${row}.${field});
  const result = values.reduce(add, 0);
  return result;
}
`,
  largest: `/** The row with the largest ${field}. */
export function largest(rows) {
  return [...rows].sort((a, b) => b.${field} - a.${field})[0];
}
`,
  line: `/** One line for people. */
export function line(rows) {
  return \`\${rows.length} rows, \${${sum}(rows)}\`;
}
`,
  end: "",
});

const fileOf = (parts: Parts, change: Partial<Parts> = {}) =>
  Object.values({ ...parts, ...change })
    .filter((part) => part !== "")
    .join("\n");

const kindsFile = (kinds: { id: number; name: string }[]) =>
  `export const kinds = [\n${kinds.map(({ id, name }) => `  { id: ${id}, name: ${JSON.stringify(name)} },\n`).join("")}];\n`;

const testFile = (imports: string, name: string, body: string) =>
  `import assert from "node:assert/strict";\nimport test from "node:test";\n${imports}\n\ntest(${JSON.stringify(name)}, () => {\n${body
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n")}\n});\n`;

type Source = Module & { path: string; parts: Parts; base: Files };

function sourceOf(module: Module): Source {
  const { name, sum, field, kinds } = module;
  const path = `src/${name}.js`;
  const parts = partsOf(module);
  const base: Files = {
    "package.json": `${JSON.stringify({ name, type: "module" })}\n`,
    [path]: fileOf(parts),
    "src/add.js": "export const add = (a, b) => a + b;\n",
    "src/kinds.js": kindsFile(kinds.map((kind, i) => ({ id: i + 1, name: kind }))),
    "test/base.test.js": testFile(
      `import * as module from "../${path}";\nimport { kinds } from "../src/kinds.js";`,
      `${name} as it was`,
      `assert.ok(module.parse("[]"));\nassert.equal(new Set(kinds.map(({ id }) => id)).size, kinds.length);\nassert.deepEqual(module.largest([{ ${field}: 1 }, { ${field}: 2 }]), { ${field}: 2 });\nassert.ok(Object.keys(module).length >= 3, ${JSON.stringify(sum)});`,
    ),
  };
  return { ...module, path, parts, base };
}

export const testA = "test/a.test.js";
export const testB = "test/b.test.js";

type Made = { a: Feature; b: Feature; both: Files };
type Kind = { kind: string; make(source: Source): Made };

const median = (field: string) =>
  `/** The middle ${field}. */\nexport function median(rows) {\n  const sorted = rows.map((row) => row.${field}).sort((a, b) => a - b);\n  return sorted[Math.floor(sorted.length / 2)];\n}\n`;
const mean = (sum: string) =>
  `/** The mean of all rows. */\nexport function mean(rows) {\n  return rows.length === 0 ? 0 : ${sum}(rows) / rows.length;\n}\n`;
const medianTest = ({ path, field }: Source) =>
  testFile(
    `import { median } from "../${path}";`,
    "median",
    `assert.equal(median([{ ${field}: 9 }, { ${field}: 1 }, { ${field}: 3 }]), 3);`,
  );
const meanTest = ({ path, field }: Source) =>
  testFile(
    `import { mean } from "../${path}";`,
    "mean",
    `assert.equal(mean([{ ${field}: 1 }, { ${field}: 3 }]), 2);\nassert.equal(mean([]), 0);`,
  );

const kinds: Kind[] = [
  {
    kind: "additive, in the same place",
    make(source) {
      const { path, parts, field, sum } = source;
      return {
        a: feature("median", {
          [path]: fileOf(parts, { end: median(field) }),
          [testA]: medianTest(source),
        }),
        b: feature("mean", {
          [path]: fileOf(parts, { end: mean(sum) }),
          [testB]: meanTest(source),
        }),
        both: { [path]: fileOf(parts, { end: `${median(field)}\n${mean(sum)}` }) },
      };
    },
  },
  {
    kind: "additive, apart",
    make(source) {
      const { path, parts, field, sum } = source;
      const head = `${parts.head}\n${median(field)}`;
      return {
        a: feature("median", { [path]: fileOf(parts, { head }), [testA]: medianTest(source) }),
        b: feature("mean", {
          [path]: fileOf(parts, { end: mean(sum) }),
          [testB]: meanTest(source),
        }),
        both: { [path]: fileOf(parts, { head, end: mean(sum) }) },
      };
    },
  },
  {
    kind: "same function",
    make({ path, parts, sum, field, row }) {
      const body = (values: string, result: string) =>
        parts.sum.replace(`rows.map((${row}) => ${row}.${field})`, values).replace("return result;", result);
      const skips = `rows.filter((${row}) => !${row}.deleted).map((${row}) => ${row}.${field})`;
      const plain = `rows.map((${row}) => ${row}.${field})`;
      const rounds = "return Math.round(result * 100) / 100;";
      const both = body(skips, rounds);
      // Both workers also rename the variable between their two lines.
      const renamed = (text: string, name: string) => text.replaceAll("result", name).replaceAll("values", `${name}s`);
      return {
        a: feature("skips deleted rows", {
          [path]: fileOf(parts, { sum: renamed(body(skips, "return result;"), "kept") }),
          [testA]: testFile(
            `import { ${sum} } from "../${path}";`,
            "deleted rows do not count",
            `assert.equal(${sum}([{ ${field}: 1 }, { ${field}: 2, deleted: true }]), 1);`,
          ),
        }),
        b: feature("rounds", {
          [path]: fileOf(parts, { sum: renamed(body(plain, rounds), "amount") }),
          [testB]: testFile(
            `import { ${sum} } from "../${path}";`,
            "rounded to two digits",
            `assert.equal(${sum}([{ ${field}: 0.1 }, { ${field}: 0.2 }]), 0.3);`,
          ),
        }),
        both: { [path]: fileOf(parts, { sum: both }) },
      };
    },
  },
  {
    kind: "same imports",
    make({ path, parts, field, sum }) {
      const one = `import { basename } from "node:path";\n`;
      const two = `import { inspect } from "node:util";\n`;
      const head = `${parts.head}\nexport const titleOf = (path) => basename(path, ".json");\n`;
      const end = "export const dump = (rows) => inspect(rows, { compact: true });\n";
      return {
        a: feature("title", {
          [path]: fileOf(parts, { imports: parts.imports + one, head }),
          [testA]: testFile(
            `import { titleOf } from "../${path}";`,
            "title",
            `assert.equal(titleOf("x/may.json"), "may");`,
          ),
        }),
        b: feature("dump", {
          [path]: fileOf(parts, { imports: parts.imports + two, end }),
          [testB]: testFile(
            `import { dump, ${sum} } from "../${path}";`,
            "dump",
            `assert.equal(dump([{ ${field}: 1 }]), "[ { ${field}: 1 } ]");\nassert.equal(${sum}([]), 0);`,
          ),
        }),
        both: { [path]: fileOf(parts, { imports: parts.imports + one + two, head, end }) },
      };
    },
  },
  {
    kind: "same list, same next number",
    make({ kinds: [first, second] }) {
      const path = "src/kinds.js";
      const one = { id: 1, name: first };
      const two = { id: 2, name: second };
      const has = (name: string) =>
        testFile(
          `import { kinds } from "../${path}";`,
          name,
          `assert.ok(kinds.some((kind) => kind.name === "${name}"));`,
        );
      return {
        a: feature("kind sample", {
          [path]: kindsFile([{ id: 3, name: "sample" }, one, two]),
          [testA]: has("sample"),
        }),
        b: feature("kind spare", {
          [path]: kindsFile([one, two, { id: 3, name: "spare" }]),
          [testB]: has("spare"),
        }),
        both: { [path]: kindsFile([{ id: 3, name: "sample" }, one, two, { id: 4, name: "spare" }]) },
      };
    },
  },
  {
    kind: "rename and new use",
    make({ path, parts, sum, field }) {
      const renamed = Object.fromEntries(
        Object.entries(parts).map(([part, text]) => [part, text.replaceAll(`${sum}(`, "sumOf(")]),
      ) as Parts;
      const report = (name: string) =>
        `import { ${name} } from "./${path.slice(4)}";\n\nexport const report = (rows) => \`sum: \${${name}(rows)}\`;\n`;
      return {
        a: feature("renamed to sumOf", {
          [path]: fileOf(renamed),
          [testA]: testFile(
            `import * as module from "../${path}";`,
            "the new name",
            `assert.equal(module.sumOf([{ ${field}: 2 }]), 2);\nassert.equal(module.${sum}, undefined);`,
          ),
        }),
        b: feature("report", {
          "src/report.js": report(sum),
          [testB]: testFile(
            `import { report } from "../src/report.js";`,
            "report",
            `assert.equal(report([{ ${field}: 2 }]), "sum: 2");`,
          ),
        }),
        both: { [path]: fileOf(renamed), "src/report.js": report("sumOf") },
      };
    },
  },
  {
    kind: "signature and new caller",
    make({ path, parts, field }) {
      const largest = parts.largest.replace("largest(rows)", "largest({ rows, skip = 0 })").replace(")[0]", ")[skip]");
      const base = testFile(
        `import * as module from "../${path}";\nimport { kinds } from "../src/kinds.js";`,
        "as it was, with the new parameter",
        `assert.ok(module.parse("[]"));\nassert.equal(new Set(kinds.map(({ id }) => id)).size, kinds.length);\nassert.deepEqual(module.largest({ rows: [{ ${field}: 1 }, { ${field}: 2 }] }), { ${field}: 2 });`,
      );
      const top = (call: string) =>
        `import { largest } from "./${path.slice(4)}";\n\nexport const top = (rows) => ${call}?.${field} ?? 0;\n`;
      return {
        a: feature("options instead of rows", {
          [path]: fileOf(parts, { largest }),
          "test/base.test.js": base,
          [testA]: testFile(
            `import { largest } from "../${path}";`,
            "skips",
            `assert.deepEqual(largest({ rows: [{ ${field}: 1 }, { ${field}: 2 }], skip: 1 }), { ${field}: 1 });`,
          ),
        }),
        b: feature("top", {
          "src/top.js": top("largest(rows)"),
          [testB]: testFile(
            `import { top } from "../src/top.js";`,
            "top",
            `assert.equal(top([{ ${field}: 1 }, { ${field}: 5 }]), 5);`,
          ),
        }),
        both: {
          [path]: fileOf(parts, { largest }),
          "test/base.test.js": base,
          "src/top.js": top("largest({ rows })"),
        },
      };
    },
  },
  {
    kind: "moved and changed",
    make({ path, parts, sum, field }) {
      const moved = (line: string) => `import { ${sum} } from "./${path.slice(4)}";\n\n${line}`;
      const empty = parts.line.replace("return `", 'if (rows.length === 0) return "nothing";\n  return `');
      const without = fileOf(parts, { line: "" });
      return {
        a: feature("line in a file of its own", {
          [path]: without,
          "src/line.js": moved(parts.line),
          [testA]: testFile(
            `import { line } from "../src/line.js";\nimport * as module from "../${path}";`,
            "moved",
            `assert.equal(line([{ ${field}: 2 }]), "1 rows, 2");\nassert.equal(module.line, undefined);`,
          ),
        }),
        b: feature("line for no rows", {
          [path]: fileOf(parts, { line: empty }),
          [testB]: testFile(`import { line } from "../${path}";`, "no rows", `assert.equal(line([]), "nothing");`),
        }),
        both: {
          [path]: without,
          "src/line.js": moved(empty),
          [testB]: testFile(`import { line } from "../src/line.js";`, "no rows", `assert.equal(line([]), "nothing");`),
        },
      };
    },
  },
  {
    kind: "another unit and new use",
    make({ path, parts, sum, field }) {
      const inHundredths = parts.sum.replace("return result;", "return Math.round(result * 100);");
      const limit = (over: string) =>
        `import { ${sum} } from "./${path.slice(4)}";\n\n/** True if the rows exceed a limit. */\nexport const exceeds = (rows, limit) => ${over};\n`;
      return {
        a: feature("sum in hundredths", {
          [path]: fileOf(parts, { sum: inHundredths }),
          [testA]: testFile(
            `import { ${sum} } from "../${path}";`,
            "hundredths",
            `assert.equal(${sum}([{ ${field}: 0.29 }]), 29);`,
          ),
        }),
        b: feature("limit", {
          "src/limit.js": limit(`${sum}(rows) > limit`),
          [testB]: testFile(
            `import { exceeds } from "../src/limit.js";`,
            "limit",
            `assert.equal(exceeds([{ ${field}: 3 }], 10), false);\nassert.equal(exceeds([{ ${field}: 11 }], 10), true);`,
          ),
        }),
        both: {
          [path]: fileOf(parts, { sum: inHundredths }),
          "src/limit.js": limit(`${sum}(rows) > limit * 100`),
        },
      };
    },
  },
  {
    kind: "new case and exhaustive table",
    make({ kinds: [first, second] }) {
      const path = "src/kinds.js";
      const listed = [
        { id: 1, name: first },
        { id: 2, name: second },
      ];
      const colours = (names: string[]) =>
        `export const colours = {\n${names.map((name, i) => `  ${name}: "#${i}${i}${i}",\n`).join("")}};\n`;
      return {
        a: feature("kind loan", {
          [path]: kindsFile([...listed, { id: 3, name: "loan" }]),
          [testA]: testFile(`import { kinds } from "../${path}";`, "loan", "assert.equal(kinds.length, 3);"),
        }),
        b: feature("colours", {
          "src/colours.js": colours([first, second]),
          [testB]: testFile(
            `import { colours } from "../src/colours.js";\nimport { kinds } from "../${path}";`,
            "each kind has a colour",
            "for (const { name } of kinds) assert.ok(colours[name], name);",
          ),
        }),
        both: {
          [path]: kindsFile([...listed, { id: 3, name: "loan" }]),
          "src/colours.js": colours([first, second, "loan"]),
        },
      };
    },
  },
];

const feature = (what: string, alone: Files): Feature => ({ what, alone });

/** Ten kinds of conflict in each of three modules: thirty pairs. */
export const pairs: Pair[] = kinds.flatMap(({ kind, make }) =>
  modules.map((module): Pair => {
    const source = sourceOf(module);
    const { a, b, both } = make(source);
    const tests = { [testA]: a.alone[testA] ?? "", [testB]: b.alone[testB] ?? "" };
    return {
      name: `${module.name}: ${kind}`,
      kind,
      base: source.base,
      a,
      b,
      both: { ...tests, ...both },
      careless: module.careless,
    };
  }),
);

/** Two requests that exclude each other: nobody can build the second without breaking the first. */
export const contradictions: Pair[] = modules.slice(0, 2).map((module) => {
  const source = sourceOf(module);
  const { path, parts, sum, field } = source;
  const empty = (value: string) => parts.sum.replace("return result;", `return rows.length === 0 ? ${value} : result;`);
  const made = (value: string, test: string) => ({
    [path]: fileOf(parts, { sum: empty(value) }),
    [test]: testFile(
      `import { ${sum} } from "../${path}";`,
      `no rows: ${value}`,
      `assert.equal(${sum}([]), ${value});\nassert.equal(${sum}([{ ${field}: 1 }]), 1);`,
    ),
  });
  return {
    name: `${module.name}: contradiction`,
    kind: "contradiction",
    base: source.base,
    a: feature("null for no rows", made("null", testA)),
    b: feature("-1 for no rows", made("-1", testB)),
    both: {},
    careless: true,
    contradicts: true,
  };
});
