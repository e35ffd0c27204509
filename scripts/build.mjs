// Bundles each entry point with its dependencies: one file loads in a fraction of the time of
// hundreds, and an agent starts scribe often. Native and rarely used packages stay outside.
import { execFileSync } from "node:child_process";
import { chmod, cp, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { buildWeb } from "./build-web.mjs";

export async function buildAll(outdir = "dist") {
  const web = buildWeb(outdir);
  const { metafile } = await build({
    entryPoints: {
      scriptorium: "src/main.ts",
      scribe: "src/scribe.ts",
      library: "src/library.ts",
      "tool-relay": "src/agents/tool-relay.ts",
      "renderer-worker": "src/http/renderer/worker.ts",
      "embedder-worker": "src/search/model/embedder/worker.ts",
      "extract-worker": "src/wiki/sources/extract/worker.ts",
    },
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: ["better-sqlite3", "pg", "pino", "chokidar", "onnxruntime-web", "unpdf", "mammoth"],
    // Its other build is CommonJS, of which nothing can be left out.
    alias: { yaml: "./node_modules/yaml/browser/dist/index.js" },
    plugins: [oneLanguage],
    // Parsing is most of a cold start; names stay, so that a stack trace can be read.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    // Some packages are CommonJS inside and ask for Node's own modules by require.
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
    chunkNames: "[name]-[hash]",
    metafile: true,
    logLevel: "warning",
  });
  await cp("src/store/migrations", join(outdir, "migrations"), { recursive: true });
  await chmod(join(outdir, "scriptorium.js"), 0o755);
  await chmod(join(outdir, "scribe.js"), 0o755);

  await web;

  // Old files go last: a command that starts meanwhile finds all it needs.
  const fresh = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
  const files = (await readdir(outdir, { withFileTypes: true })).filter((item) => item.isFile());
  await Promise.all(files.filter(({ name }) => !fresh.has(name)).map(({ name }) => rm(join(outdir, name))));
}

/** Zod brings its messages in fifty languages; ours are English, and every command would read the rest. */
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
  if (process.argv.includes("--types")) {
    execFileSync("npx", ["tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" });
  }
}
