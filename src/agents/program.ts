import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { knownProgram } from "./known-programs.ts";

/** Finds an executable on `path`, or, if the name has a slash, relative to `base`. */
export function findProgram(name: string, path: string, base: string): string | undefined {
  if (name.includes("/")) {
    const file = isAbsolute(name) ? name : resolve(base, name);
    return isProgram(file) ? file : undefined;
  }
  const places = path.split(delimiter).flatMap((folder) => (folder ? [join(folder, name)] : []));
  return places.find(isProgram);
}

/** Refuses a program that cannot be started, with the way to install it if it is a known one. */
export function checkProgram(bin: string, env: Record<string, string>, base: string): Result<true> {
  if (findProgram(bin, env.PATH ?? "", base)) return ok(true);
  const where = bin.includes("/") ? `${bin} is not executable` : `${bin} is not in PATH`;
  const install = knownProgram(bin)?.install;
  const ways = install ? `install it with: ${install}, or set` : "set";
  return refuse("invalid", `the agent cannot be started: ${where}; ${ways} its path in scriptorium.yaml`, {
    next: [{ operation: "configure_agent", to: "choose another agent" }],
  });
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
