#!/usr/bin/env node
import { prepareProcess } from "./kernel/prepare-process.ts";
import { loadCommands } from "./load-commands.ts";

prepareProcess();
const argv = process.argv.slice(2);
await loadCommands(argv[0]).runScriptorium(argv);
