import type { PlanTask } from "../../src/crew/rules/plan.ts";
import type { Heard, Reply } from "../../test/support/model-wire.ts";

const task = (number: string, more: Partial<PlanTask>): PlanTask => ({
  number,
  title: `Write page ${number}`,
  requirements: `Write the file out/${number}.txt.`,
  worker_role: "A careful writer",
  qc_role: "A strict reader",
  verification: [{ criterion: "the file exists", check: { run: ["test", "-f", `out/${number}.txt`], exits: 0 } }],
  execution: ["write the file with write_file"],
  max_retries: 2,
  depends_on: ["0"],
  files: [],
  deliverable: "files",
  notes: "",
  ...more,
});

const groundwork: Partial<PlanTask> = {
  deliverable: "text",
  depends_on: [],
  verification: [{ criterion: "Node runs", check: { run: ["node", "--version"], exits: 0 } }],
};
const tasks = [task("0", groundwork), task("1.1", {}), task("1.2", {})];

/** A model that plays every part of a crew; the tools it is given tell the parts apart. */
export function mind(heard: Heard): Reply {
  const call = (name: string, input: unknown): Reply => ({ calls: [{ name, input }] });
  const has = (tool: string) => heard.tools.includes(tool);
  const said = heard.messages.map(({ text }) => text).join("\n");
  const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "";
  if (has("submit_preamble"))
    return call("submit_preamble", { content: "You do careful work and report what you saw. ".repeat(3) });
  if (has("finish_plan"))
    return {
      calls: [
        { name: "add_plan_tasks", input: { tasks } },
        { name: "finish_plan", input: { title: "Two pages" } },
      ],
    };
  if (has("submit_verdict")) {
    const evidence = [{ criterion: 1, met: true, quote: "exit code 0", from: "check" }];
    return call("submit_verdict", { verdict: "PASS", score: 95, feedback: "As required.", evidence });
  }
  if (number === "0" || said.includes(`"bytes":`)) return call("submit_output", { output: `Wrote out/${number}.txt.` });
  return call("write_file", { path: `out/${number}.txt`, content: `Page ${number}\n` });
}
