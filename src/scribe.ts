#!/usr/bin/env node
import { runScribe } from "./cli/scribe.ts";

await runScribe(process.argv.slice(2));
