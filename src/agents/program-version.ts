import { execFile } from "node:child_process";

const patienceMs = 5000;

/** The first line that a program prints for --version; undefined when it fails or takes too long. */
export async function programVersion(program: string, env: Record<string, string>): Promise<string | undefined> {
  const printed = await programOutput(program, ["--version"], { env });
  return printed?.trim().split("\n", 1)[0]?.slice(0, 100) || undefined;
}

type Options = { env: Record<string, string>; cwd?: string };

/** What a program prints for a question about itself; undefined when it fails or takes too long. */
export function programOutput(program: string, args: string[], { env, cwd }: Options): Promise<string | undefined> {
  return new Promise((done) => {
    const limits = { timeout: patienceMs, killSignal: "SIGKILL" as const, maxBuffer: 1024 * 1024 };
    execFile(program, args, { ...limits, env, ...(cwd ? { cwd } : {}) }, (error, stdout) => {
      done(error ? undefined : stdout);
    }).stdin?.end();
  });
}
