import { spawn } from "node:child_process";
import { runMarker } from "./survivors.ts";

/**
 * Reads a line that says that the run is over. The end of the input without it means that our process is gone: then
 * the group and all processes with the marker of the run are killed.
 */
const script = `read -r over && exit 0
kill -KILL -- "-$1"
for round in 1 2 3; do
  for file in /proc/[0-9]*/environ; do
    if tr '\\0' '\\n' < "$file" | grep -qxF "$2"; then
      pid=\${file#/proc/}
      kill -KILL "\${pid%/environ}"
    fi
  done
  sleep 1
done`;

/**
 * Lets a program without a sandbox not outlive this process, even if that is killed (V9). bubblewrap does so by itself;
 * Node cannot ask the kernel for it, so a shell waits at a pipe that the kernel closes with our end.
 */
export function endWithParent(group: number, run: string, path: string | undefined): { over(): void } {
  const args = ["-c", script, "sh", String(group), `${runMarker}=${run}`];
  const env = path === undefined ? {} : { PATH: path };
  const guard = spawn("/bin/sh", args, { detached: true, env, stdio: ["pipe", "ignore", "ignore"] });
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  guard.unref();
  return { over: () => void guard.stdin.end("over\n") };
}
