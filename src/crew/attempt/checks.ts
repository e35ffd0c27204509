import { runBounded } from "../../agents/bounded.ts";
import { readWithin } from "../agent/desk/files.ts";
import { accessOf, type Desk, folderOf } from "../agent/desk/place.ts";
import type { Check, Criterion } from "../rules/plan.ts";

/** `criterion` is numbered from 1, as in the plan's file. */
export type Checked = { criterion: number; passed: boolean; detail: string; durationMs: number };

type Deps = Pick<Desk, "folder" | "sandbox" | "read" | "limits" | "env" | "run" | "signal" | "beside"> & {
  checkMs: number;
};

const longestDetail = 4000;

/** Runs the checks of the plan on a deliverable, one after the other, in the sandbox. */
export async function runChecks(criteria: readonly Criterion[], deps: Deps): Promise<Checked[]> {
  const results: Checked[] = [];
  for (const [i, { check }] of criteria.entries()) {
    if (!check || deps.signal.aborted) continue;
    const began = Date.now();
    const { passed, detail } = await runCheck(check, deps);
    results.push({ criterion: i + 1, passed, detail: detail.slice(0, longestDetail), durationMs: Date.now() - began });
  }
  return results;
}

/** True if a check runs a command, which may call git. */
export const callCommands = (criteria: readonly Pick<Criterion, "check">[]) =>
  criteria.some(({ check }) => check !== undefined && "run" in check);

type CheckOutcome = { passed: boolean; detail: string };

async function runCheck(check: Check, deps: Deps): Promise<CheckOutcome> {
  if ("run" in check) return runCommand(check, deps);
  const text = await readWithin(await folderOf(deps), check.file);
  if (!text.ok && text.problem.code !== "not_found") return { passed: false, detail: text.problem.message };
  if ("exists" in check) {
    const passed = text.ok === check.exists;
    return { passed, detail: text.ok ? `${check.file} exists` : `${check.file} does not exist` };
  }
  if (!text.ok) return { passed: false, detail: text.problem.message };
  const words = "contains" in check ? check.contains : check.lacks;
  const line = lineOf(text.value, words);
  const where =
    line === undefined ? `${check.file} does not contain "${words}"` : `${check.file}:${line} contains "${words}"`;
  return { passed: "contains" in check ? line !== undefined : line === undefined, detail: where };
}

function lineOf(text: string, words: string): number | undefined {
  const at = text.indexOf(words);
  return at === -1 ? undefined : text.slice(0, at).split("\n").length;
}

async function runCommand(check: Extract<Check, { run: string[] }>, deps: Deps): Promise<CheckOutcome> {
  const ran = await runBounded(deps.sandbox, check.run as [string, ...string[]], await accessOf(deps), {
    run: deps.run,
    wallMs: deps.checkMs,
    signal: deps.signal,
    maxCharacters: longestDetail,
  });
  const exits = check.exits ?? 0;
  const how = ran.ended === "exit" ? `exit code ${ran.exitCode}` : (ran.error ?? ran.ended);
  const missing = check.prints !== undefined && !ran.output.includes(check.prints);
  const passed = ran.ended === "exit" && ran.exitCode === exits && !missing;
  const wanted = missing
    ? `"${check.prints}" is not in the output`
    : ran.exitCode === exits
      ? ""
      : `expected exit code ${exits}`;
  return { passed, detail: [`${check.run.join(" ")}: ${how}`, wanted, ran.output.trim()].filter(Boolean).join("\n") };
}
