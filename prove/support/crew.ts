import { type Heard, type Reply, startModelServer } from "../../test/support/model-wire.ts";

const task = (number: string, more: object) => ({
  number,
  title: `Do ${number}`,
  requirements: `Make ${number}.`,
  worker_role: "an engineer",
  qc_role: "a critical reviewer",
  verification: [{ criterion: `${number} is made` }],
  execution: ["write the file with write_file"],
  max_retries: 2,
  files: [],
  notes: "",
  ...more,
});

const tasks = [
  task("0", { deliverable: "text", depends_on: [] }),
  task("1.1", { deliverable: "files", depends_on: ["0"] }),
];

/**
 * A model on loopback that plays every part of a crew, told apart by its tools. It rejects the first
 * deliverable of task 1.1, so that a run passes through a failed attempt.
 */
export async function startCrewModel() {
  const rejected = new Set<string>();
  const server = await startModelServer((heard) => reply(heard, rejected));
  const config = {
    sandbox: "none",
    agents: { all: { runner: "model", model: "local/one" } },
    providers: { local: { kind: "openai", base_url: `${server.url}/v1`, key_env: "PROVE_KEY" } },
  };
  return {
    close: server.close,
    env: { PROVE_KEY: "none" },
    config: `claims: { lease_seconds: 5 }\ncrew: ${JSON.stringify(config)}\n`,
    /** The next verdict on task 1.1 is FAIL again. */
    reset: () => rejected.clear(),
  };
}

function reply(heard: Heard, rejected: Set<string>): Reply {
  const call = (name: string, input: unknown): Reply => ({ calls: [{ name, input }] });
  const said = heard.messages.map((message) => message.text).join("\n");
  const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "";
  if (heard.tools.includes("submit_preamble"))
    return call("submit_preamble", { content: "You do careful work, and say what you saw. ".repeat(3) });
  if (heard.tools.includes("finish_plan"))
    return {
      calls: [
        { name: "add_plan_tasks", input: { tasks } },
        { name: "finish_plan", input: { title: "A run" } },
      ],
    };
  if (/"status":"submitted"|"outcome":/.test(JSON.stringify(heard.body).replaceAll("\\", ""))) return { text: "Done." };
  if (heard.tools.includes("submit_verdict")) {
    const passes = number === "0" || rejected.has(number);
    rejected.add(number);
    return call("submit_verdict", verdict(passes, number));
  }
  if (number === "1.1" && !said.includes(`"bytes":`))
    return call("write_file", { path: "out/1.1.txt", content: `${number}\n` });
  return call("submit_output", { output: `made ${number}` });
}

const verdict = (met: boolean, number: string) => ({
  verdict: met ? "PASS" : "FAIL",
  score: met ? 92 : 40,
  feedback: met ? "It is as asked." : "It is not as asked.",
  issues: met ? [] : ["it is wrong"],
  required_fixes: met ? [] : ["make it right"],
  evidence:
    number === "0"
      ? [{ criterion: 1, met, quote: `made ${number}`, from: "output" }]
      : [{ criterion: 1, met, quote: number, from: "file", ref: `out/${number}.txt` }],
});
