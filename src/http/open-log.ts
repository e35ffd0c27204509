import { pino } from "pino";
import { escapeHidden } from "../kernel/hidden.ts";
import type { Log } from "../kernel/log.ts";

type Out = { write(line: string): unknown };

/** Lines of JSON in which every character is visible: they quote texts that others wrote (T36). */
export const openLog = (level: string, out: Out = process.stderr): Log =>
  pino({ level, base: null }, { write: (line: string) => void out.write(escapeHidden(line)) });
