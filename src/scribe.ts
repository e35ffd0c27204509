#!/usr/bin/env node
import { prepareProcess } from "./kernel/prepare-process.ts";

prepareProcess();
const { runScribe } = await import("./cli/scribe.ts");
await runScribe(process.argv.slice(2));
