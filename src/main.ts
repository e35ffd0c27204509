#!/usr/bin/env node
import { runScriptorium } from "./cli/program.ts";

await runScriptorium(process.argv.slice(2));
