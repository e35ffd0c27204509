// Runs one bench against the commands as they ship.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { exitCodeOf, withBundle } from "./bundle.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const benches = readdirSync("bench")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"));
const peers = Object.keys(JSON.parse(readFileSync("bench/package.json", "utf8")).dependencies);
const [name, ...rest] = process.argv.slice(2);

if (benches.includes(name ?? "")) process.exitCode = await runBench(name, rest);
else {
  console.error(name ? `no bench ${name}; there are:` : "which bench? there are:");
  for (const known of benches) console.error(`  npm run bench -- ${known}`);
  process.exitCode = 2;
}

function runBench(name, args) {
  return withBundle("bench", [`bench/${name}.ts`], (folder, sources) => {
    if (sources.some(usesPeers)) linkPeers(folder);
    return exitCodeOf(spawn(process.execPath, [join(folder, "bench", `${name}.js`), ...args], { stdio: "inherit" }));
  });
}

function usesPeers(file) {
  const source = readFileSync(file, "utf8");
  return peers.some((peer) => source.includes(`"${peer}`));
}

/**
 * Links only the peers into the bundle's folder. Resolving the bundle from bench/node_modules would also
 * take zod, hono and pg from there, and measure Scriptorium with versions it does not ship with.
 */
function linkPeers(folder) {
  installPeers();
  for (const peer of peers) {
    const link = join(folder, "node_modules", peer);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve("bench/node_modules", peer), link, "junction");
  }
}

function installPeers() {
  const installed = statSync("bench/node_modules/.package-lock.json", { throwIfNoEntry: false });
  if (installed && installed.mtimeMs >= statSync("bench/package-lock.json").mtimeMs) return;
  console.error("Installing the peers in bench/package.json (npm ci --prefix bench)");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  // npm writes to stderr: stdout belongs to the bench, whose --json prints one value there.
  execFileSync("npm", ["ci", "--prefix", "bench", ...quiet], { stdio: ["ignore", 2, 2] });
}
