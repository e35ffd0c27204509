/**
 * `scribe` asks a running server with a small bundle. Modules that it imports on demand open the store; scribe.ts of
 * the launcher performs such calls with the bundle of all commands, so they are left out here.
 */
export const withoutStore = {
  name: "without-store",
  /** @param {import("esbuild").PluginBuild} plugin */
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, namespace: "without-store" } : undefined,
    );
    onLoad({ filter: /./, namespace: "without-store" }, ({ path }) => ({
      contents: `throw new Error("the bundle of scribe does not contain ${path}");`,
    }));
  },
};
