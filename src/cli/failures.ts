import type { showRun } from "../crew/run-operations.ts";
import type { OutputOf } from "./output-of.ts";

type Failures = OutputOf<typeof showRun>["failures"];

const mostLines = 12;

/** What failed, with the end of its output, what to do about it, and the commands that do it. */
export function failureLines(run: string, failures: Failures): string[] {
  if (failures.length === 0) return [];
  return [
    ...failures.flatMap(({ number, title, cause, output, advice }) => [
      "",
      `task ${number} failed (${title}): ${cause.split("\n", 1)[0]}`,
      ...(output === null
        ? []
        : output
            .trimEnd()
            .split("\n")
            .slice(-mostLines)
            .map((line) => `    ${line}`)),
      ...advice.map((one) => `  - ${one}`),
    ]),
    "",
    `retry with: ${failures.map(({ id }) => `scriptorium task retry ${id}`).join(" && ")} && scriptorium run resume ${run}`,
    `or have the planner change them: scriptorium run replan ${run}`,
  ];
}
