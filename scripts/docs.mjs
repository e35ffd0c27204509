// The documentation as a site: npm run docs serves it, npm run docs -- build builds it into docs/.vitepress/dist.
import { execFileSync, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exitCodeOf } from "./bundle.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const [command = "dev", ...rest] = process.argv.slice(2);
if (["dev", "build", "preview"].includes(command)) {
  install();
  const program = "docs/node_modules/vitepress/bin/vitepress.js";
  process.exitCode = await exitCodeOf(
    spawn(process.execPath, [program, command, "docs", ...rest], { stdio: "inherit" }),
  );
} else {
  console.error(`no command ${command}; there are dev, build and preview`);
  process.exitCode = 2;
}

/** On first use, so that a plain npm ci does not install what only the site needs. */
function install() {
  const installed = statSync("docs/node_modules/.package-lock.json", { throwIfNoEntry: false });
  if (installed && installed.mtimeMs >= statSync("docs/package-lock.json").mtimeMs) return;
  console.error("Installing VitePress (npm ci --prefix docs)");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["ci", "--prefix", "docs", ...quiet], { stdio: "inherit" });
}
