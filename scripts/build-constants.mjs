import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

/** Modules whose exports are JSON and the same for every start. */
const filter = /[\\/]src[\\/](operation-manifest|cli[\\/]command-summaries)\.ts$/;

/** Computes the exports of these modules during the build, so that a command does not load what they are computed from. */
export const buildTimeConstants = {
  name: "build-time-constants",
  /** @param {import("esbuild").PluginBuild} plugin */
  setup({ onLoad }) {
    onLoad({ filter }, async ({ path }) => ({ contents: await constantsOf(path), loader: "js" }));
  },
};

/** @param {string} path */
async function constantsOf(path) {
  // Inside node_modules, so that the bundle resolves its external packages.
  mkdirSync("node_modules/.cache", { recursive: true });
  const folder = mkdtempSync("node_modules/.cache/constants-");
  try {
    const outfile = join(folder, "constants.mjs");
    await build({
      entryPoints: [path],
      outfile,
      bundle: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20.19",
      logLevel: "warning",
    });
    const exported = await import(pathToFileURL(outfile).href);
    // V8 reads JSON in a string faster than an object literal.
    return Object.entries(exported)
      .map(([name, value]) => `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(value))});`)
      .join("\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
