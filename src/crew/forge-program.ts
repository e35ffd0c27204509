import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { delimiter, isAbsolute, relative, sep } from "node:path";
import { findProgram } from "../agents/program.ts";

type Options = { cwd: string; env: Record<string, string | undefined>; input: string };
export type Ran = { code: number; stdout: string; stderr: string };

const mostMs = 2 * 60_000;
const keptOutput = 64 * 1024;

/** A program of the person. One inside the repository is not: a package's `node_modules/.bin` may be on PATH. */
export function personsProgram(name: string, path: string, top: string): string | undefined {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && !isInside(real(folder), real(top)));
  const found = findProgram(name, folders.join(delimiter), top);
  return found && !isInside(real(found), real(top)) ? found : undefined;
}

const real = (path: string) => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

const isInside = (path: string, top: string) => {
  const way = relative(top, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
};

/** Runs a program of a forge as the person would in their shell, but without a terminal to ask at. */
export function runForgeProgram(program: string, args: string[], { cwd, env, input }: Options): Promise<Ran> {
  return new Promise((done, fail) => {
    const asks = { GH_PROMPT_DISABLED: "1", NO_PROMPT: "1", GIT_TERMINAL_PROMPT: "0", NO_COLOR: "1" };
    const child = spawn(program, args, {
      cwd,
      env: { ...env, ...asks },
      stdio: ["pipe", "pipe", "pipe"],
      timeout: mostMs,
      killSignal: "SIGKILL",
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout = (stdout + chunk).slice(-keptOutput)));
    child.stderr.on("data", (chunk) => (stderr = (stderr + chunk).slice(-keptOutput)));
    child.on("error", fail);
    child.on("close", (code) => done({ code: code ?? 1, stdout, stderr }));
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}
