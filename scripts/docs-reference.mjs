// Writes docs/reference/ and docs/public/llms.txt: npm run docs:reference
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
// Inside node_modules, so that the bundle resolves its external packages.
mkdirSync("node_modules/.cache", { recursive: true });
const folder = mkdtempSync("node_modules/.cache/reference-");
try {
  const outfile = join(folder, "scripts", "pages.js");
  await build({
    entryPoints: ["scripts/reference/pages.ts"],
    outfile,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "warning",
  });
  const { generatedPages } = await import(pathToFileURL(outfile).href);
  // llms.txt last: it quotes the pages of the reference.
  for (const round of ["reference/", "public/"]) {
    for (const [path, text] of Object.entries(await generatedPages("docs"))) {
      if (!path.startsWith(round)) continue;
      mkdirSync(join("docs", round), { recursive: true });
      writeFileSync(join("docs", path), text);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
