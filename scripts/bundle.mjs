import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { buildAll } from "./build.mjs";

/**
 * Builds the commands as they ship into `dist/` of a temporary folder, and the entry points into
 * `<name>/` beside it, so that the repository's own dist/ is left alone. Removes the folder after `work`.
 */
export async function withBundle(name, entryPoints, work) {
  // Inside node_modules, so that the bundle resolves its external packages.
  mkdirSync("node_modules/.cache", { recursive: true });
  const folder = mkdtempSync(`node_modules/.cache/${name}-`);
  try {
    for (const shipped of ["package.json", "templates"]) cpSync(shipped, join(folder, shipped), { recursive: true });
    await buildAll(join(folder, "dist"));
    const { metafile } = await build({
      entryPoints,
      outdir: join(folder, name),
      bundle: true,
      splitting: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20.19",
      metafile: true,
      logLevel: "warning",
    });
    cpSync("src/store/migrations", join(folder, name, "migrations"), { recursive: true });
    return await work(folder, Object.keys(metafile.inputs));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The exit code of a child, which gets our signals and cleans up before it ends. */
export function exitCodeOf(child) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done(code ?? 1));
  });
}
