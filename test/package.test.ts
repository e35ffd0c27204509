import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { nodeVersion } from "./support/node-versions.ts";
import { bareMachine, installedPackages, type Packed, pack } from "./support/packed.ts";
import { ask, signIn } from "./support/requests.ts";
import { temporaryFolder } from "./support/workspace.ts";

const root = new URL("../", import.meta.url).pathname;

test("the published types compile in a project that has nothing else installed", { timeout: 120_000 }, () => {
  const folder = temporaryFolder();
  const types = join(folder, "types");
  const script = `import { buildTypes } from "${root}scripts/build-types.mjs"; await buildTypes(${JSON.stringify(types)});`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
  for (const name of ["library.d.ts", "contract.d.ts"])
    expect(readFileSync(join(types, name), "utf8")).not.toMatch(/\bimport\b.*["(]|reference types/);
  writeFileSync(
    join(folder, "use.mts"),
    `import { openWorkspace, type Workspace } from "./types/library.js";
     import { checkStore, type EntryStore, storeChecks } from "./types/contract.js";
     const store: EntryStore = { list: async () => [], read: async () => undefined, write: async () => false };
     (await checkStore(() => store)).passed satisfies string[];
     for (const { name, run } of storeChecks(() => store)) [name satisfies string, await run()];
     // @ts-expect-error a store has to write
     ({ list: async () => [], read: async () => undefined }) satisfies EntryStore;
     const workspace: Workspace = await openWorkspace(".");
     const entry = await workspace.call("fetch_entry", { id: "vision" });
     if (entry.ok) entry.value.content satisfies string;
     const listed = await workspace.as("engineer").listEntries();
     if (Array.isArray(listed)) for (const { id, version } of listed) [id satisfies string, version satisfies number];
     else listed.status satisfies string;
     // @ts-expect-error the id is missing
     await workspace.call("fetch_entry", {});
     // @ts-expect-error no such operation
     await workspace.call("fetch_nothing", {});`,
  );
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", ""];
  execFileSync(join(root, "node_modules/.bin/tsc"), [...options, "use.mts"], { cwd: folder, stdio: "inherit" });
});

test("the licences of bundled packages and of the web application are shipped", () => {
  const licences = readFileSync(join(root, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
  for (const name of [
    "zod@",
    "kysely@",
    "unpdf@",
    "mammoth@",
    "react-dom@",
    "@mermaid-js/tiny@",
    "@radix-ui/react-icons@",
  ])
    expect(licences).toContain(`\n${name}`);
});

describe("T34: the software bill of materials", () => {
  type Sbom = { components: { purl: string; hashes: object[]; licenses: object[] }[] };

  test("T34: it lists each bundled package with its licence and its hash in the lock file", () => {
    const { components }: Sbom = JSON.parse(readFileSync(join(root, "dist/sbom.cdx.json"), "utf8"));
    const listed = components.map(({ purl }) => decodeURIComponent(purl.replace("pkg:npm/", "")));
    const licences = readFileSync(join(root, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
    const bundled = [...licences.matchAll(/^(\S+@\d\S*) \(.+\)$/gm)].map(([, name]) => name ?? "");
    expect(bundled.length).toBeGreaterThan(150);
    expect(listed.sort()).toEqual([...new Set(bundled)].sort());
    expect(components.filter(({ hashes, licenses }) => hashes.length !== 1 || licenses.length !== 1)).toEqual([]);
  });

  test.each([
    ["MIT", true],
    ["(MIT OR GPL-3.0-or-later)", true],
    ["(MIT AND Zlib)", true],
    ["MIT AND (GPL-2.0-only OR Apache-2.0)", true],
    ["(MIT AND GPL-3.0-only)", false],
    ["GPL-3.0-only", false],
    ["SEE LICENSE IN LICENSE", false],
    ["UNLICENSED", false],
    ["", false],
  ])("T34: a bundled package with the licence %j is accepted: %j", async (license, isAccepted) => {
    const folder = temporaryFolder();
    const write = (path: string, value: object) => {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), JSON.stringify(value));
    };
    write("package.json", { name: "own", version: "1.0.0", license: "MIT" });
    write("package-lock.json", { packages: { "node_modules/other": { integrity: "sha512-AAAA" } } });
    write("node_modules/other/package.json", { name: "other", version: "2.0.0", license });
    const script = new URL("../scripts/build-sbom.mjs", import.meta.url).href;
    const { sbomOf } = await import(script);
    const made: Promise<object> = sbomOf(["node_modules/other"], folder);
    const outcome = await made.then(
      () => true,
      (error: Error) => error.message,
    );
    expect(outcome).toBe(
      isAccepted ||
        `other@2.0.0 is bundled and has the licence ${license}; add it to scripts/build-sbom.mjs if it permits redistribution`,
    );
  });
});

describe("P11: the packed package", () => {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-package-"));
  let packed: Packed;
  beforeAll(() => {
    packed = pack(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const machine = (node = process.execPath) => {
    const made = bareMachine(node);
    onTestFinished(() => rmSync(made.home, { recursive: true, force: true }));
    return made;
  };
  const install = async (bare: ReturnType<typeof bareMachine>) => {
    const app = bare.folder("app");
    writeFileSync(join(app, "package.json"), "{}");
    expect(await bare.run("npm", ["install", packed.tarball], app)).toMatchObject({ code: 0 });
    return app;
  };

  test("is one package below 80 MB without dependencies and install scripts, with SQLite for each platform", async () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(manifest.dependencies ?? {}).toEqual({});
    expect(manifest.optionalDependencies ?? {}).toEqual({});
    expect(Object.keys(manifest.scripts)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(pre|post)?install$/)]),
    );
    expect(packed.unpackedBytes).toBeLessThan(80e6);
    const native = packed.files.filter((path) => path.endsWith(".node")).sort();
    expect(native).toEqual([
      "dist/native/darwin-arm64.node",
      "dist/native/darwin-x64.node",
      "dist/native/linux-arm64-musl.node",
      "dist/native/linux-arm64.node",
      "dist/native/linux-x64-musl.node",
      "dist/native/linux-x64.node",
    ]);
    const bare = machine();
    expect(installedPackages(await install(bare))).toEqual(["scriptorium"]);
  });

  const releases = ["20", "22.12.0", "24"];
  test.for(releases)(
    "works offline on Node %s with only Node, npm and git on the machine",
    async (release, { skip }) => {
      const bare = machine(await nodeAt(release, skip));
      const book = bare.folder("book");
      const npx = await bare.run("npx", ["--yes", `--package=${packed.tarball}`, "scriptorium", "init"], book);
      expect(npx).toMatchObject({ code: 0 });
      expect(npx.stderr).not.toMatch(/warn/i);
      expect(existsSync(join(book, "wiki/overview.md"))).toBe(true);

      const bin = (name: string) => join(app, "node_modules/.bin", name);
      const app = await install(bare);
      const text = "A book about lamps.";
      const written = await bare.run(bin("scribe"), ["commit-entry", "--id", "overview", "--version", "1"], book, text);
      expect(written).toMatchObject({ code: 0, stderr: "" });
      const read = await bare.run(bin("scribe"), ["fetch-entry", "--id", "overview"], book);
      expect(JSON.parse(read.stdout)).toMatchObject({ content: text, version: 2 });

      const client = new Client({ name: "test", version: "1" });
      onTestFinished(() => client.close().catch(() => undefined));
      await client.connect(
        new StdioClientTransport({
          command: bin("scriptorium"),
          args: ["mcp"],
          cwd: book,
          env: bare.env,
          stderr: "pipe",
        }),
      );
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("commit_entry");
      const fetched = await client.callTool({ name: "fetch_entry", arguments: { id: "overview" } });
      expect(fetched.structuredContent).toMatchObject({ content: text });

      const server = bare.start(bin("scriptorium"), ["serve", "--port", "0", "--json"], book);
      const ended = once(server, "close");
      onTestFinished(async () => {
        server.kill();
        await ended;
      });
      const [line] = await once(server.stdout, "data");
      const { url, link } = JSON.parse(String(line));
      const page = await ask(url, "/", { headers: await signIn(link) });
      expect(page.text).toContain("<script");
    },
  );

  test("an old Node is named in one sentence", async ({ skip }) => {
    const bare = machine(await nodeAt("18", skip));
    const app = await install(bare);
    for (const name of ["scriptorium", "scribe"]) {
      const { code, stdout, stderr } = await bare.run(join(app, "node_modules/.bin", name), ["--version"], app);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(
        /^scriptorium: Node 18\.\S+ is too old\. Install Node 20\.19 or newer; this one is \S+\n$/,
      );
    }
  });

  test("without a loadable SQLite, init says so in one sentence and writes nothing", async () => {
    const bare = machine();
    const app = await install(bare);
    const native = join(app, "node_modules/scriptorium/dist/native");
    const init = async () => {
      const book = join(bare.home, "book");
      const { code, stderr } = await bare.run(join(app, "node_modules/.bin/scriptorium"), ["init", book], app);
      expect(code).toBe(1);
      expect(existsSync(book)).toBe(false);
      return stderr;
    };
    for (const file of readdirSync(native)) writeFileSync(join(native, file), "not a library");
    const advice = "Use Node 24.16 or newer, which includes SQLite, or install Scriptorium again.\n";
    const damaged = await init();
    expect(damaged).toMatch(/^scriptorium: SQLite cannot be loaded: \S+\.node: [^\n]+$/m);
    expect(damaged.split("\n")).toHaveLength(2);
    rmSync(native, { recursive: true });
    expect(await init()).toBe(
      `scriptorium: SQLite cannot be loaded: the package contains no SQLite for ${process.platform}-${process.arch}. ${advice}`,
    );
  });
});

/** The current Node for its own release; others come from npm, and the test is skipped where they cannot be fetched. */
async function nodeAt(release: string, skip: (reason: string) => never): Promise<string> {
  if (process.versions.node.startsWith(`${release}.`)) return process.execPath;
  const found = await nodeVersion(release);
  return "node" in found ? found.node : skip(found.missing);
}
