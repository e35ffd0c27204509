#!/usr/bin/env node
import { prepareProcess } from "./kernel/prepare-process.ts";
import { loadCommands, loadScribe } from "./load-commands.ts";

prepareProcess();
const argv = process.argv.slice(2);
// A running server answers most calls: asking it needs a twentieth of the code.
const performHere: ReturnType<typeof loadCommands>["performHere"] = (root, call) =>
  loadCommands(argv[0]).performHere(root, call);
await loadScribe(argv[0]).runScribe(argv, undefined, performHere);
