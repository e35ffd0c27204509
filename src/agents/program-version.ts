import { execFile } from "node:child_process";

const patienceMs = 5000;

/** The first line that a program prints for --version; undefined when it fails or takes too long. */
export function programVersion(program: string, env: Record<string, string>): Promise<string | undefined> {
  return new Promise((done) => {
    const options = { env, timeout: patienceMs, killSignal: "SIGKILL" as const, maxBuffer: 64 * 1024 };
    execFile(program, ["--version"], options, (error, stdout) => {
      done(error ? undefined : stdout.trim().split("\n", 1)[0]?.slice(0, 100) || undefined);
    }).stdin?.end();
  });
}
