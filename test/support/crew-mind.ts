import type { PlanTask } from "../../src/crew/rules/plan.ts";
import { handInCalls, verdictOf } from "./crew.ts";
import { modelServer } from "./model-server.ts";
import type { Heard, Reply } from "./model-wire.ts";
import { planOf } from "./plans.ts";

/** Configuration for a crew whose every part is one model, which plans these tasks. Its key is in FAKE_KEY. */
export async function crewOfOneModel(tasks: PlanTask[]): Promise<string> {
  const model = await modelServer(crewMind(tasks));
  const crew = {
    agents: { all: { runner: "model", model: "fake/one" } },
    providers: { fake: { kind: "openai", base_url: `${model.url}/v1`, key_env: "FAKE_KEY" } },
    sandbox: "none",
  };
  return `crew: ${JSON.stringify(crew)}\n`;
}

/** A model that plays every part of a crew, told apart by the tools it is given. */
export function crewMind(
  tasks: PlanTask[],
  onTask: (number: string, heard: Heard) => Reply | undefined = () => undefined,
) {
  return (heard: Heard): Reply => {
    const has = (tool: string) => heard.tools.some((name) => name.endsWith(tool));
    const name = (tool: string) => heard.tools.find((one) => one.endsWith(tool)) ?? tool;
    const call = (tool: string, input: unknown): Reply => ({ calls: [{ name: name(tool), input }] });
    const said = heard.messages.map((message) => message.text).join("\n");
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "";
    if (has("submit_preamble"))
      return call("submit_preamble", { content: "You do careful work, look twice, and say what you saw. ".repeat(2) });
    if (has("submit_research"))
      return call("submit_research", { findings: "Each task writes one file below out/.", files: ["out/: new"] });
    if (has("finish_plan"))
      return { calls: handInCalls(planOf(tasks)).map(({ name: tool, input }) => ({ name: name(tool), input })) };
    if (has("submit_report"))
      return said.includes("you are done") ? { text: "Done." } : call("submit_report", { content: reportFrom(said) });
    if (/"status":"submitted"|"outcome":/.test(JSON.stringify(heard.body).replaceAll("\\", "")))
      return { text: "Done." };
    const special = onTask(number, heard);
    if (special) return special;
    if (has("submit_verdict")) {
      const text = tasks.find((task) => task.number === number)?.deliverable === "text";
      const evidence = text
        ? [{ criterion: 1, met: true, quote: `made ${number}`, from: "output" }]
        : [{ criterion: 1, met: true, quote: number, from: "file", ref: `out/${number}.txt`, lines: "1" }];
      return call("submit_verdict", verdictOf(true, { evidence }));
    }
    const isFile = tasks.find((task) => task.number === number)?.deliverable === "files";
    if (isFile && !said.includes(`"bytes":`))
      return call("write_file", { path: `out/${number}.txt`, content: `${number}\n` });
    return call("submit_output", { output: `made ${number}` });
  };
}

/** The sections that each kind of report asks for, told apart by its context. */
function reportFrom(said: string) {
  if (said.includes("# The record of a run"))
    return { outcome: "It is made.", reasoning: "As planned.", key_decisions: ["none"] };
  if (said.includes("\nPlan: "))
    return { blocked_tasks: "None.", delay: "None.", risk: "Low.", next_actions: ["Retry"], lessons: ["none"] };
  return { timeline: "It failed.", score_progression: "None.", root_causes: ["unknown"], recommendations: ["Retry"] };
}
