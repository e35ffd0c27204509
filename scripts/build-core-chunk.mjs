import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

/**
 * esbuild puts modules that the same set of entry points uses into one chunk. The modules of operations are imported
 * on demand, so each is an entry point, and that made a hundred chunks, for each of which Node needs a quarter of a
 * millisecond. Since all of them import the application here, all that it consists of is in one chunk.
 */
export const oneCoreChunk = {
  name: "one-core-chunk",
  /** @param {import("esbuild").PluginBuild} plugin */
  setup({ onLoad }) {
    const loaders = readFileSync("src/operation-loaders.ts", "utf8");
    const modules = [...loaders.matchAll(/import\("(.+?)"\)/g)].map(([, path = ""]) => resolve("src", path));
    const onDemand = new Set([...modules, resolve("src/agent-call.ts"), resolve("src/crew-tools.ts")]);
    const core = `import ${JSON.stringify(resolve("src/app.ts"))};\n`;
    onLoad({ filter: /\.ts$/ }, async ({ path }) =>
      onDemand.has(path) ? { contents: core + (await readFile(path, "utf8")), loader: "ts" } : undefined,
    );
  },
};
