import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Block, blocksOf } from "./support/doc-blocks.ts";
import { runPage } from "./support/run-page.ts";

const root = new URL("..", import.meta.url).pathname;
const pages = execFileSync("git", ["-C", root, "ls-files", "README.md", "docs/*.md"], { encoding: "utf8" })
  .split("\n")
  .filter((path) => path.endsWith(".md") && !/^docs\/(decisions|reference)\//.test(path));
const all = pages.flatMap((page) => blocksOf(root, page));
const isCommand = ({ language }: Block) => language === "sh" || language === "console";
const isRun = (block: Block) => block.language === "setup" || (isCommand(block) && block.notRun === undefined);

describe.concurrent("P5: the commands work as written", () => {
  for (const page of pages) {
    const blocks = all.filter((block) => block.page === page);
    const [run, skipped] = [blocks.filter(isRun), blocks.filter(({ notRun }) => notRun !== undefined)];
    const counted = run.filter(isCommand).length;
    if (counted === 0) continue;
    test(`in ${page} (${counted} blocks run, ${skipped.length} not)`, () => inTurn(() => runPage(run)));
  }
});

/** Commands wait for disk and processes, so a few pages at a time take less than half as long as one by one. */
const most = 3;
let running = 0;
const waiting: (() => void)[] = [];
async function inTurn(work: () => Promise<void>): Promise<void> {
  if (running >= most) await new Promise<void>((go) => waiting.push(go));
  running++;
  try {
    await work();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

test("P5: every block of README and docs says what it is, so that commands cannot hide among examples", () => {
  const data = ["text", "yaml", "json", "toml", "markdown", "ini", "nginx"];
  const known = ["setup", "sh", "console", "ts", ...data];
  const unknown = all.filter(({ language }) => !known.includes(language));
  expect(unknown.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
});

test("P5: most command blocks are run; the others say why not", () => {
  const commands = all.filter(isCommand);
  const skipped = commands.filter(({ notRun }) => notRun !== undefined);
  expect(skipped.filter(({ notRun }) => (notRun ?? "").length < 10)).toEqual([]);
  expect(commands.length - skipped.length).toBeGreaterThan(65);
  expect(skipped.length / commands.length).toBeLessThan(0.3);
});

test("P5, N10: the TypeScript examples, the example stores and programs compile with the published types, in strict mode", () => {
  const examples = all.filter(({ language }) => language === "ts");
  expect(examples.length).toBeGreaterThanOrEqual(6);
  // In the repository, so that the compiler finds Node's types.
  const folder = join(root, "node_modules/.cache", `docs-examples-${process.pid}`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  const script = `import { buildTypes } from "${root}scripts/build-types.mjs"; await buildTypes(${JSON.stringify(join(folder, "types"))});`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
  for (const [index, { text }] of examples.entries()) writeFileSync(join(folder, `${index}.ts`), text);
  for (const kind of ["stores", "crew"]) cpSync(join(root, "docs/examples", kind), folder, { recursive: true });
  const compilerOptions = {
    target: "es2022",
    module: "nodenext",
    strict: true,
    noEmit: true,
    allowJs: true,
    checkJs: true,
    types: ["node"],
    paths: { scriptorium: ["./types/library.d.ts"], "scriptorium/contract": ["./types/contract.d.ts"] },
  };
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts", "*.mjs"] }));
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
  expect(stdout).toBe("");
  expect(status).toBe(0);
});
