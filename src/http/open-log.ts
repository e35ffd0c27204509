import { hostname } from "node:os";
import { pino } from "pino";
import { escapeHidden } from "../kernel/hidden.ts";
import type { Log } from "../kernel/log.ts";
import { processName } from "../kernel/process-name.ts";

type Out = { write(line: string): unknown };

/**
 * Lines of JSON in which every character is visible: they quote texts that others wrote (T36). `process` is the name
 * under which the record knows this process, e.g. as the one that executes a run.
 */
export const openLog = (level: string, out: Out = process.stderr): Log =>
  pino(
    { level, base: { host: hostname(), process: processName() } },
    { write: (line: string) => void out.write(escapeHidden(line)) },
  );
