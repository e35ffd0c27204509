#!/usr/bin/env node
import module from "node:module";

// From Node 22 on, what was compiled once is kept and not compiled again.
(module as { enableCompileCache?: () => void }).enableCompileCache?.();
const { runScriptorium } = await import("./cli/program.ts");
await runScriptorium(process.argv.slice(2));
