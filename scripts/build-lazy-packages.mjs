import { isBuiltin } from "node:module";

/**
 * Packages that are imported on demand become files of their own, so that commands which do not use them do not read
 * them. `files` has their names; the other build makes them.
 */
export function lazyPackages() {
  /** @type {Record<string, string>} */
  const files = {};
  return {
    files,
    plugin: {
      name: "lazy-packages",
      /** @param {import("esbuild").PluginBuild} plugin */
      setup({ onResolve }) {
        onResolve({ filter: /^(@[\w-]+\/)?[a-z]/ }, ({ kind, path }) => {
          if (kind !== "dynamic-import" || isBuiltin(path)) return undefined;
          const name = `package-${path.replaceAll(/[^a-z0-9]+/g, "-").replace(/^-/, "")}`;
          files[name] = path;
          return { path: `./${name}.js`, external: true };
        });
      },
    },
  };
}
