// Bundles each entry point with its dependencies: a bundle loads in a fraction of the time that
// hundreds of files take, agents start scribe often, and users install one package instead of 260.
import { chmod, copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { buildTimeConstants } from "./build-constants.mjs";
import { oneCoreChunk } from "./build-core-chunk.mjs";
import { lazyPackages } from "./build-lazy-packages.mjs";
import { licencesOf, packagesOf } from "./build-licences.mjs";
import { staticOperationList } from "./build-operation-list.mjs";
import { sbomFile, sbomOf } from "./build-sbom.mjs";
import { withoutStore } from "./build-scribe.mjs";
import { buildTypes } from "./build-types.mjs";
import { buildWeb } from "./build-web.mjs";

export async function buildAll(outdir = "dist") {
  const web = buildWeb(outdir);
  const lazy = lazyPackages();
  const bundle = {
    ...shared,
    entryNames: "[name]-[hash]",
    outExtension: { ".js": ".cjs" },
    outdir,
    format: "cjs",
    define: { "import.meta.url": "bundleUrl" },
    banner: {
      js: `const bundleUrl = require("node:url").pathToFileURL(__filename).href; const importModule = module.importModule ?? ((path) => import(path));`,
    },
  };
  const plugins = [oneLanguage, buildTimeConstants];
  const commands = await build({
    ...bundle,
    entryPoints: { commands: "src/commands.ts" },
    plugins: [...plugins, staticOperationList, lazy.plugin],
  });
  const scribe = await build({
    ...bundle,
    entryPoints: { "scribe-client": "src/cli/scribe.ts" },
    plugins: [...plugins, withoutStore],
  });
  const [commandsFile, scribeFile] = await Promise.all([commands, scribe].map(prepareForCache));
  const modules = await build({
    ...shared,
    entryPoints: {
      scriptorium: "src/main.ts",
      scribe: "src/scribe.ts",
      library: "src/library.ts",
      contract: "src/contract.ts",
      "tool-relay": "src/agents/tool-relay.ts",
      "network-relay": "src/agents/network/relay.ts",
      "renderer-worker": "src/http/renderer/worker.ts",
      "embedder-worker": "src/search/model/embedder/worker.ts",
      "text-worker": "src/thread-tasks.ts",
      "extract-worker": "src/wiki/sources/extract/worker.ts",
      ...lazy.files,
    },
    outdir,
    splitting: true,
    format: "esm",
    define: {
      commandsFile: JSON.stringify(commandsFile),
      scribeFile: JSON.stringify(scribeFile),
    },
    plugins: [oneLanguage, buildTimeConstants, oneCoreChunk],
    // Bundled CommonJS packages call require() for Node's built-in modules.
    banner: { js: `import { createRequire as banner } from "node:module"; const require = banner(import.meta.url);` },
    chunkNames: "[name]-[hash]",
  });
  const metafile = {
    inputs: { ...commands.metafile.inputs, ...scribe.metafile.inputs, ...modules.metafile.inputs },
    outputs: { ...commands.metafile.outputs, ...scribe.metafile.outputs, ...modules.metafile.outputs },
  };
  await refuseMissingDependencies(metafile);
  await copyMigrations(join(outdir, "migrations"));
  await copyNativeModules(join(outdir, "native"));
  await chmod(join(outdir, "scriptorium.js"), 0o755);
  await chmod(join(outdir, "scribe.js"), 0o755);

  const sources = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const packages = [...packagesOf(sources), sqlitePackage, ...(await web)];
  await writeFile(join(outdir, licencesFile), await licencesOf(packages));
  await writeFile(join(outdir, sbomFile), `${JSON.stringify(await sbomOf(packages))}\n`);

  // Old files are removed last: a command that starts during the build still finds its chunks.
  const fresh = new Set([...Object.keys(metafile.outputs).map((path) => basename(path)), licencesFile, sbomFile]);
  const files = (await readdir(outdir, { withFileTypes: true })).filter((item) => item.isFile());
  await Promise.all(files.filter(({ name }) => !fresh.has(name)).map(({ name }) => rm(join(outdir, name))));
}

/** @satisfies {import("esbuild").BuildOptions} */
const shared = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  // pg loads this optional peer only when it is asked to.
  external: ["pg-native"],
  alias: {
    // The package's other build is CommonJS, which cannot be tree-shaken.
    yaml: "./node_modules/yaml/browser/dist/index.js",
    // Its CommonJS build requires files in a way that bundlers do not see.
    "jsonc-parser": "./node_modules/jsonc-parser/lib/esm/main.js",
  },
  // Parsing is most of a cold start; names are kept for readable stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "linked",
  metafile: true,
  logLevel: "warning",
};

/**
 * load-commands.ts reads the bundle as Latin-1. esbuild escapes all characters that are not ASCII but those in regular
 * expressions, where an escape means the same. It also runs the bundle from compiled code, in which import() does not
 * work: packages are imported by a function that it passes.
 * Returns the name of the file.
 * @param {{ metafile: import("esbuild").Metafile }} built
 */
async function prepareForCache({ metafile }) {
  const file = Object.keys(metafile.outputs).find((path) => path.endsWith(".cjs")) ?? "";
  const escaped = (/** @type {string} */ unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const text = (await readFile(file, "utf8"))
    .replaceAll('import("./package-', 'importModule("./package-')
    // A module of the user: src/wiki/stores/load-store.ts.
    .replaceAll("import(moduleUrl)", "importModule(moduleUrl)");
  await writeFile(file, text.replaceAll(/[^\0-\x7f]/g, escaped));
  return basename(file);
}

/**
 * Removes files of an earlier build: every SQL file in the folder is run.
 * @param {string} folder
 */
async function copyMigrations(folder) {
  await cp("src/store/migrations", folder, { recursive: true });
  const current = new Set(await readdir("src/store/migrations"));
  const stale = (await readdir(folder)).filter((name) => !current.has(name));
  await Promise.all(stale.map((name) => rm(join(folder, name))));
}

const sqlitePackage = "node_modules/@photostructure/sqlite";
const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

/**
 * Copies the SQLite modules of every platform, so that the package needs no other package and no install
 * script. `src/store/sqlite/binding.ts` loads them.
 * @param {string} folder
 */
async function copyNativeModules(folder) {
  await mkdir(folder, { recursive: true });
  for (const platform of platforms) {
    const prebuilds = join(sqlitePackage, "prebuilds", platform);
    for (const name of await readdir(prebuilds)) {
      const musl = name.includes(".musl.") ? "-musl" : "";
      await copyFile(join(prebuilds, name), join(folder, `${platform}${musl}.node`));
    }
  }
}

const licencesFile = "THIRD-PARTY-LICENSES.txt";

/**
 * A package that is left out of the bundle must be installed with ours.
 * @param {import("esbuild").Metafile} metafile
 */
async function refuseMissingDependencies(metafile) {
  const { dependencies = {} } = JSON.parse(await readFile("package.json", "utf8"));
  const optional = new Set(["pg-native"]);
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    for (const { path, external } of imports) {
      if (!external || isBuiltin(path) || optional.has(path) || path in dependencies) continue;
      // A package in a file of its own: build-lazy-packages.mjs.
      if (join(dirname(file), path) in metafile.outputs) continue;
      throw new Error(`${file} imports ${path}, which is neither bundled nor in dependencies`);
    }
  }
}

/** Zod's messages come in fifty languages; ours are English, and every command would parse the rest. */
const oneLanguage = {
  name: "one-language",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: `export { default as en } from "./en.js";`,
      loader: "js",
    }));
  },
};

if (import.meta.url === `file://${process.argv[1]}`) {
  await buildAll();
  if (process.argv.includes("--types")) await buildTypes();
  if (process.argv.includes("--sbom")) console.log(join("dist", sbomFile));
}
