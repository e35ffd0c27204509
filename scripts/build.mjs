// Bundles each entry point with its dependencies: one file loads in a fraction of the time of
// hundreds, and an agent starts scribe often. Native and rarely used packages stay outside.
import { chmod, cp, rm } from "node:fs/promises";
import { build } from "esbuild";

const external = ["better-sqlite3", "pg", "pino", "chokidar"];

export async function buildAll(outdir = "dist") {
  await rm(outdir, { recursive: true, force: true });
  await build({
    entryPoints: {
      scriptorium: "src/main.ts",
      scribe: "src/scribe.ts",
      library: "src/library.ts",
      "renderer-worker": "src/http/renderer/worker.ts",
    },
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external,
    // Its other build is CommonJS, of which nothing can be left out.
    alias: { yaml: "./node_modules/yaml/browser/dist/index.js" },
    // Parsing is most of a cold start; names stay, so that a stack trace can be read.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    // Some packages are CommonJS inside and ask for Node's own modules by require.
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
    chunkNames: "[name]-[hash]",
    logLevel: "warning",
  });
  await cp("src/store/migrations", `${outdir}/migrations`, { recursive: true });
  await chmod(`${outdir}/scriptorium.js`, 0o755);
  await chmod(`${outdir}/scribe.js`, 0o755);
}

if (import.meta.url === `file://${process.argv[1]}`) await buildAll();
