import type { PlanTask } from "../../src/crew/rules/plan.ts";
import type { Heard, Reply } from "../../test/support/model-wire.ts";
import { proseWriter } from "../support/text.ts";
import { checkOf, moduleOf, rightOf, type Size } from "./project.ts";

/** How often a worker writes the wrong text. */
export const errRate = 0.15;
/** Every so many answers a call arrives with arguments that are not JSON, and is made again. */
const malformedEvery = 25;

/** Exactly so often, and in the same places in every run: of those that erred, as many err again. */
export function errs(n: number, attempt: number): boolean {
  const nth = Math.floor(n * errRate);
  if (nth === Math.floor((n - 1) * errRate)) return false;
  return attempt === 1 || errs(nth, attempt - 1);
}

/** What the first task finds out is told to all that come after it, as in any real run. */
const groundwork = proseWriter(3)(3000);

type Call = { name: string; input: unknown };
type Answer = { text: string; calls: Call[] };
/** The answers of one agent, one for each request. */
type Script = Generator<Answer, Answer>;

/** Models say what they are about to do before they call a tool. */
const call = (name: string, input: unknown, text = "I will do this next, because the task asks for it."): Answer => ({
  text,
  calls: [{ name, input }],
});
const read = (n: number) => call("read_file", { path: moduleOf(n), from: 120, lines: 60 });
const edit = (n: number, before: string, after: string) =>
  call("edit_file", { path: moduleOf(n), edits: [{ old: before, new: after }] });

/**
 * Plays scripts in the conversations of a model. An agent is known by its prompt, which stays when its conversation is
 * compacted; counting its answers would not survive that.
 */
export function playing(scriptFor: (heard: Heard) => Script): (heard: Heard) => Reply {
  const scripts = new Map<string, { script: Script; repeat: Answer | undefined; last: Answer }>();
  let answers = 0;
  return (heard) => {
    const key = `${heard.tools.join()} ${heard.messages[0]?.text}`;
    const isNew = !heard.messages.some(({ role }) => role === "assistant");
    const found = isNew ? undefined : scripts.get(key);
    const playing = found ?? { script: scriptFor(heard), repeat: undefined, last: { text: "Done.", calls: [] } };
    scripts.set(key, playing);
    const answer = playing.repeat ?? playing.script.next().value ?? playing.last;
    playing.last = answer;
    const [first] = answer.calls;
    playing.repeat = undefined;
    if (first && ++answers % malformedEvery === 0) {
      playing.repeat = answer;
      return { name: first.name, rawArguments: JSON.stringify(first.input).slice(0, -2) };
    }
    return answer;
  };
}

/** What the model of this bench does as each agent of a crew. */
export const crewMind = (size: Size, tasks: PlanTask[]) =>
  playing((heard) => {
    const has = (tool: string) => heard.tools.includes(tool);
    const said = heard.messages.map((message) => message.text).join("\n");
    if (has("submit_preamble")) return preamble();
    if (has("finish_plan")) return planner(size, tasks);
    if (has("submit_report")) return reporter();
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "0";
    const n = number === "0" ? 0 : Number(number.slice(2));
    if (has("submit_verdict")) return verifier();
    const before = /Output of attempt (\d+) /.exec(said)?.[1];
    return worker(n, before ? Number(before) + 1 : 1);
  });

function* once(answer: Answer): Script {
  yield answer;
  return answer;
}

const preamble = () =>
  once(
    call("submit_preamble", { content: "You are careful, you change little, and you show what you saw. ".repeat(2) }),
  );

const reporter = () =>
  once(
    call("submit_report", {
      content: { outcome: "All answers are there.", reasoning: "As planned.", key_decisions: ["none"] },
    }),
  );

function* worker(n: number, attempt: number): Script {
  if (n === 0) {
    yield call("run_command", { run: ["node", "--version"] });
    return call("submit_output", { output: `Node is there. ${groundwork}` });
  }
  yield read(n);
  yield edit(n, attempt === 1 ? "not yet" : `wrong ${n}`, errs(n, attempt) ? `wrong ${n}` : rightOf(n));
  return call("submit_output", { output: `answer() in ${moduleOf(n)} returns what was asked for.` });
}

/** It sees the change in its prompt, as every verifier does of a change of this size. */
function verifier(): Script {
  const evidence = [{ criterion: 1, met: true, quote: "exit code 0", from: "check" }];
  return once(call("submit_verdict", { verdict: "PASS", score: 92, feedback: "As asked.", evidence }));
}

/** A planner looks around once; then it plans, as much as fits into one answer at a time. */
function* planner(size: Size, tasks: PlanTask[]): Script {
  yield* lookAround(size);
  for (let from = 0; from < tasks.length; from += 10) {
    const add = call("add_plan_tasks", { tasks: tasks.slice(from, from + 10) });
    const finish = { title: "Answers", summary: "One module for each task.", count: tasks.length };
    const isLast = from + 10 >= tasks.length;
    yield isLast ? { ...add, calls: [...add.calls, { name: "finish_plan", input: finish }] } : add;
  }
  return { text: "The plan is finished.", calls: [] };
}

/** Nobody reads more files than this before starting: a planner has 200 tool calls. */
function* lookAround({ files }: Size): Generator<Answer, void> {
  const most = Math.min(files, 150);
  for (let at = 0; at < most; at += 10) {
    const some = Array.from({ length: Math.min(10, most - at) }, (_, i) => at + i + 1);
    const calls = some.map((n) => ({ name: "read_file", input: { path: moduleOf(n), lines: 400 } }));
    yield { text: "I read the next modules.", calls };
  }
}

/**
 * One careful agent for everything, in one conversation: it reads what the planner reads, and for each task what a
 * worker reads; it makes the same edits and the same mistakes, runs the task's check itself, and corrects what is wrong.
 */
export const soloMind = (size: Size, looksAround: boolean) => playing(() => solo(size, looksAround));

function* solo(size: Size, looksAround: boolean): Script {
  if (looksAround) yield* lookAround(size);
  for (let n = 1; n < size.tasks; n++) {
    yield read(n);
    let before = "not yet";
    for (let attempt = 1; ; attempt++) {
      const after = errs(n, attempt) ? `wrong ${n}` : rightOf(n);
      if (after !== before) yield edit(n, before, after);
      yield call("run_command", { run: checkOf(n) });
      if (after === rightOf(n)) break;
      before = after;
    }
  }
  return { text: "Everything is done.", calls: [] };
}
