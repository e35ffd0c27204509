// Counts what makes a tree hard to read, so that two states of it can be compared:
//   node scripts/counts.mjs [folder with src/]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = resolve(process.argv[2] ?? ".");
const src = join(root, "src");
const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((item) => item.isFile() && /\.ts$/.test(item.name))
  .map((item) => join(item.parentPath, item.name));
const product = files.filter((file) => !file.endsWith(".test.ts"));
const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));

/** Bottom to top, as in ARCHITECTURE.md. Files directly in src/ are the composition root and the ways in. */
const layers = "kernel store config search tasks wiki people graph agents review jobs crew doctor . mcp http cli".split(
  " ",
);
const folderOf = (file) => {
  const parts = relative(src, file).split("/");
  return parts.length > 1 ? parts[0] : ".";
};

const imports = new Map(
  product.map((file) => [
    file,
    [...texts.get(file).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)]
      .map(([, path]) => resolve(dirname(file), path))
      .filter((path) => texts.has(path)),
  ]),
);

const isRoot = (file) => /^(app|operations|operation-list|executing|library)\.ts$/.test(relative(src, file));

/** Imports of a folder further up, or of the composition root from below a face. */
function upwardImports() {
  let count = 0;
  for (const [file, targets] of imports) {
    const from = layers.indexOf(folderOf(file));
    if (folderOf(file) === ".") continue;
    for (const target of targets) {
      const to = layers.indexOf(folderOf(target));
      if (folderOf(target) === "." ? isRoot(target) && to > from : to > from) count++;
    }
  }
  return count;
}

/** Files in import cycles, type-only imports included: strongly connected components of more than one file. */
function filesInCycles() {
  const index = new Map();
  const low = new Map();
  const stack = [];
  const onStack = new Set();
  const cycles = [];
  const visit = (file) => {
    index.set(file, index.size);
    low.set(file, index.get(file));
    stack.push(file);
    onStack.add(file);
    for (const target of imports.get(file) ?? []) {
      if (!index.has(target)) {
        visit(target);
        low.set(file, Math.min(low.get(file), low.get(target)));
      } else if (onStack.has(target)) low.set(file, Math.min(low.get(file), index.get(target)));
    }
    if (low.get(file) !== index.get(file)) return;
    const component = [];
    for (let member; member !== file; ) {
      member = stack.pop();
      onStack.delete(member);
      component.push(member);
    }
    if (component.length > 1) cycles.push(component.length);
  };
  for (const file of product) if (!index.has(file)) visit(file);
  return cycles;
}

function typeNamesInSeveralFiles() {
  const homes = new Map();
  for (const file of product)
    for (const [, name] of texts.get(file).matchAll(/^export (?:type|interface) (\w+)/gm))
      homes.set(name, (homes.get(name) ?? 0) + 1);
  return [...homes.values()].filter((count) => count > 1).length;
}

const count = (list, pattern) => list.reduce((sum, file) => sum + (texts.get(file).match(pattern)?.length ?? 0), 0);
const queries = /\.(?:selectFrom|insertInto|updateTable|deleteFrom|with(?:Recursive)?)\(|\bsql(?:<[^`]*>)?`/g;
const outside = product.filter((file) => folderOf(file) !== "store");
const cycles = filesInCycles();
const byFolder = new Map();
for (const file of product) byFolder.set(dirname(file), (byFolder.get(dirname(file)) ?? 0) + 1);
const largest = [...byFolder].sort((a, b) => b[1] - a[1]).slice(0, 6);

const rows = {
  "source files": product.length,
  "largest folders (files)": largest.map(([folder, n]) => `${relative(root, folder)} ${n}`).join(", "),
  "folders with more than 20 files": [...byFolder.values()].filter((n) => n > 20).length,
  "upward imports": upwardImports(),
  "import cycles, types included (files in each)":
    cycles.length === 0 ? "0" : `${cycles.length} (${cycles.join(", ")})`,
  "exported type names in more than one file": typeNamesInSeveralFiles(),
  "`as` casts (not `as const`)": count(
    product,
    /(?<![\w*"'`.] )\bas (?!const\b)(?:unknown|never|[A-Z{([]|string|number|keyof|typeof)/g,
  ),
  "queries outside src/store/": count(outside, queries),
  "files with queries outside src/store/": outside.filter(
    (file) => queries.test(texts.get(file)) || texts.get(file).search(queries) >= 0,
  ).length,
  "comments that begin with What/Who/Whoever": count(
    product,
    /(?:\/\*\*?|\/\/|^ \*) *(?:What|Who|Whoever|Whatever)\b/gm,
  ),
  "rows of `...{ a, b }`": count(product, /^\s*\.\.\.\{ /gm),
};
for (const [name, value] of Object.entries(rows)) console.log(`${name.padEnd(50)} ${value}`);
