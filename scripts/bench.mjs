// Runs one bench: bundles it and the commands as they ship into a folder of its own, so that
// nobody else's dist/ is disturbed, and takes the folder away afterwards.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildAll } from "./build.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const benches = readdirSync("bench")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"));
const [name, ...rest] = process.argv.slice(2);

if (benches.includes(name ?? "")) process.exitCode = await runBench(name, rest);
else {
  console.error(name ? `no bench ${name}; there are:` : "which bench? there are:");
  for (const known of benches) console.error(`  npm run bench -- ${known}`);
  process.exitCode = 2;
}

async function runBench(name, args) {
  // Inside node_modules, so that the bundle finds the packages that stay outside it.
  mkdirSync("node_modules/.cache", { recursive: true });
  const folder = mkdtempSync("node_modules/.cache/bench-");
  try {
    cpSync("package.json", join(folder, "package.json"));
    await buildAll(join(folder, "dist"));
    await build({
      entryPoints: [`bench/${name}.ts`],
      outdir: join(folder, "bench"),
      bundle: true,
      splitting: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20.19",
      logLevel: "warning",
    });
    cpSync("src/store/migrations", join(folder, "bench/migrations"), { recursive: true });
    return await finished(
      spawn(process.execPath, [join(folder, "bench", `${name}.js`), ...args], { stdio: "inherit" }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The bench cleans up behind itself when it is told to stop: we pass the word on and wait. */
function finished(child) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done(code ?? 1));
  });
}
