#!/usr/bin/env node
import module from "node:module";

// Whoever reads only the beginning, as `head` does, has had enough: that is no trouble.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
// From Node 22 on, what was compiled once is kept and not compiled again.
(module as { enableCompileCache?: () => void }).enableCompileCache?.();
const { runScriptorium } = await import("./cli/program.ts");
await runScriptorium(process.argv.slice(2));
