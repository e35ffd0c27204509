import type { PlanTask } from "../../src/crew/rules/plan.ts";
import { verdictOf } from "./crew.ts";
import { modelServer } from "./model-server.ts";
import type { Heard, Reply } from "./model-wire.ts";

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
const crewMind =
  (tasks: PlanTask[]) =>
  (heard: Heard): Reply => {
    const call = (tool: string, input: unknown): Reply | undefined => {
      const name = heard.tools.find((one) => one.endsWith(tool));
      return name === undefined ? undefined : { calls: [{ name, input }] };
    };
    const said = heard.messages.map((message) => message.text).join("\n");
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "";
    const evidence = [{ criterion: 1, met: true, quote: `made ${number}`, from: "output" }];
    return (
      call("submit_preamble", { text: "You do careful work, look twice, and say what you saw. ".repeat(2) }) ??
      call("submit_plan", { title: "A run", summary: "", assumptions: [], cites: [], tasks }) ??
      call("submit_verdict", verdictOf(true, { evidence })) ??
      call("submit_output", { output: `made ${number}` }) ?? { text: "I have nothing to do." }
    );
  };
