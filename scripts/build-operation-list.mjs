import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/**
 * src/operation-list.ts awaits every loader when it is imported, which a CommonJS bundle cannot do. There it imports
 * the modules of src/operation-loaders.ts instead.
 */
export const staticOperationList = {
  name: "static-operation-list",
  /** @param {import("esbuild").PluginBuild} plugin */
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]operation-list\.ts$/ }, () => ({
      contents: listOf(readFileSync("src/operation-loaders.ts", "utf8")),
      loader: "js",
      resolveDir: resolve("src"),
    }));
  },
};

/** @param {string} loaders */
function listOf(loaders) {
  const modules = [...loaders.matchAll(/const (\w+) = \(\) => import\("(.+?)"\)/g)];
  const picked = [...loaders.matchAll(/^ {2}(\w+): pick\((\w+), "(\w+)"\)/gm)];
  const named = loaders.match(/\bpick\(\w/g)?.length;
  if (picked.length !== named) throw new Error(`read ${picked.length} of ${named} operations of operation-loaders.ts`);
  return [
    ...modules.map(([, name, path]) => `import * as ${name} from ${JSON.stringify(path)};`),
    `export const operations = {${picked.map(([, name, module, exported]) => `${name}: ${module}.${exported}`)}};`,
    "export const allOperations = Object.values(operations);",
    "export const operationNamed = (name) => operations[name];",
  ].join("\n");
}
