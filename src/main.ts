#!/usr/bin/env node
import { prepareProcess } from "./kernel/prepare-process.ts";

prepareProcess();
const { runScriptorium } = await import("./cli/program.ts");
await runScriptorium(process.argv.slice(2));
