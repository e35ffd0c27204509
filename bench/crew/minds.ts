import type { PlanTask } from "../../src/crew/rules/plan.ts";
import type { Heard, Reply } from "../../test/support/model-wire.ts";
import { proseWriter } from "../support/text.ts";
import { moduleOf, rightOf, type Size } from "./project.ts";

/** How often a worker writes the wrong text. */
export const errRate = 0.15;

/** Exactly so often, and in the same places in every run: of those that erred, as many err again. */
export function errs(n: number, attempt: number): boolean {
  const nth = Math.floor(n * errRate);
  if (nth === Math.floor((n - 1) * errRate)) return false;
  return attempt === 1 || errs(nth, attempt - 1);
}

/** What the first task finds out is told to all that come after it, as in any real run. */
const groundwork = proseWriter(3)(3000);

const call = (name: string, input: unknown): Reply => ({ calls: [{ name, input }] });
const edit = (n: number, text: string) =>
  call("edit_file", { path: moduleOf(n), edits: [{ old: "not yet", new: text }] });

/** What the model of this bench does, in a crew and alone: the same reading, the same edits, the same mistakes. */
export function crewMind(size: Size, tasks: PlanTask[]) {
  return (heard: Heard): Reply => {
    const has = (tool: string) => heard.tools.includes(tool);
    const said = heard.messages.map((message) => message.text).join("\n");
    const turn = heard.messages.filter((message) => message.role === "assistant").length;
    if (has("submit_preamble"))
      return call("submit_preamble", {
        content: "You are careful, you change little, and you show what you saw. ".repeat(2),
      });
    if (has("finish_plan")) return plan(size, tasks, turn);
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "0";
    const n = number === "0" ? 0 : Number(number.slice(2));
    if (has("submit_verdict")) return verdict(turn, n);
    if (n === 0)
      return turn === 0
        ? call("run_command", { run: ["node", "--version"] })
        : call("submit_output", { output: `Node is there. ${groundwork}` });
    const before = /Output of attempt (\d+) /.exec(said)?.[1];
    const attempt = before ? Number(before) + 1 : 1;
    if (turn === 0) return call("read_file", { path: moduleOf(n), from: 120, lines: 60 });
    const text = errs(n, attempt) ? `wrong ${n}` : rightOf(n);
    if (turn === 1 && before)
      return call("edit_file", { path: moduleOf(n), edits: [{ old: `wrong ${n}`, new: text }] });
    if (turn === 1) return edit(n, text);
    return call("submit_output", { output: `answer() in ${moduleOf(n)} returns what was asked for.` });
  };
}

/** Nobody reads more files than this before starting: a planner has 200 tool calls. */
const lookedAt = ({ files }: Size) => Math.min(files, 150);

/** A planner looks around once; then it plans. */
function plan(size: Size, tasks: PlanTask[], turn: number): Reply {
  const at = turn * 10;
  const files = lookedAt(size);
  if (at < files) {
    const some = Array.from({ length: Math.min(10, files - at) }, (_, i) => at + i + 1);
    return { calls: some.map((n) => ({ name: "read_file", input: { path: moduleOf(n), lines: 400 } })) };
  }
  // As much as fits into one answer.
  const from = (turn - Math.ceil(files / 10)) * 10;
  if (from < tasks.length) return call("add_plan_tasks", { tasks: tasks.slice(from, from + 10) });
  return call("finish_plan", { title: "Answers", summary: "One module for each task." });
}

function verdict(turn: number, n: number): Reply {
  if (turn === 0 && n > 0) return call("read_file", { path: moduleOf(n), from: 120, lines: 60 });
  const evidence = [{ criterion: 1, met: true, quote: "exit code 0", from: "check" }];
  return call("submit_verdict", { verdict: "PASS", score: 92, feedback: "As asked.", evidence });
}

/** One agent for everything: it looks around once, then does one task after the other in one conversation. */
export function soloMind(size: Size) {
  const { tasks } = size;
  const files = lookedAt(size);
  return (heard: Heard): Reply => {
    const turn = heard.messages.filter((message) => message.role === "assistant").length;
    const looking = Math.ceil(files / 10);
    if (turn < looking) {
      const some = Array.from({ length: Math.min(10, files - turn * 10) }, (_, i) => turn * 10 + i + 1);
      return { calls: some.map((n) => ({ name: "read_file", input: { path: moduleOf(n), lines: 400 } })) };
    }
    const n = turn - looking + 1;
    if (n >= tasks) return { text: "Everything is done." };
    return edit(n, errs(n, 1) ? `wrong ${n}` : rightOf(n));
  };
}
