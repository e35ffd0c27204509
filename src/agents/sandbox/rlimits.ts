import type { SandboxLimits } from "../../config/sandbox.ts";

/**
 * Limits that each process inherits and cannot raise: files of 1 GiB, no core dumps, 1024 open files. Those of
 * `limits` apply inside a sandbox only: outside, the process limit would count all processes of the user.
 */
export const withRlimits = (argv: readonly string[], limits?: SandboxLimits): string[] => [
  "/bin/sh",
  "-c",
  `ulimit -c 0; ulimit -f 2097152; ulimit -n 1024; ${limits ? inside(limits) : ""}exec "$@"`,
  "sh",
  ...argv,
];

/** The kernel exempts root from the process limit, so it is also watched from outside (T7). */
function inside({ processes, cpu_minutes }: SandboxLimits): string {
  const cpuSeconds = Math.ceil(cpu_minutes * 60);
  // The option's letter differs between shells.
  const processLimit = ["p", "u"].map(
    (letter) => `(ulimit -${letter} ${processes}) 2>/dev/null && ulimit -${letter} ${processes}; `,
  );
  // When memory runs out, the kernel ends these processes before others.
  return `${processLimit.join("")}ulimit -t ${cpuSeconds}; echo 1000 2>/dev/null >/proc/self/oom_score_adj; `;
}
