// Serves the example workspace and starts again after each change of the source.
import { spawn } from "node:child_process";
import { watch } from "node:fs";
import { buildAll } from "./build.mjs";

let server;
let again;

async function start() {
  try {
    await buildAll();
  } catch {
    return; // esbuild has said what is wrong; the next change tries again
  }
  server?.kill("SIGTERM");
  server = spawn(process.execPath, ["dist/scriptorium.js", "serve", "--example"], { stdio: "inherit" });
}

for (const folder of ["src", "web"]) {
  watch(folder, { recursive: true }, () => {
    clearTimeout(again);
    again = setTimeout(() => void start(), 200);
  });
}
process.once("SIGINT", () => {
  server?.once("close", () => process.exit(0));
  server?.kill("SIGTERM");
});
await start();
