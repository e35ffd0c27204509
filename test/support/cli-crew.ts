/**
 * A crew whose agents are real CLIs, and the model on loopback that is their mind. Without vitest, because
 * prove/killed-clis.ts uses it too.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { markName } from "./cli-kills.ts";
import type { Heard, Reply } from "./model-wire.ts";

export type CrewCli = "claude" | "codex" | "qwen";

/** The key that the person has; agents must never see it. */
export const ownKey = "sk-own-key-of-the-person-4f1d";

/** The part of crew.agents that runs a CLI. */
export const agentOf = (cli: CrewCli, bin: string): Record<string, unknown> =>
  cli === "qwen" ? { runner: "acp", command: [bin, "--acp", "--auth-type", "openai"] } : { runner: cli };

/** The agent block: where the CLIs are, and the variables that an ACP agent needs. */
export const blockOf = (bins: Partial<Record<CrewCli, string>>): Record<string, unknown> => ({
  author_name: "Crew",
  author_email: "crew@example.org",
  ...(bins.claude ? { claude_bin: bins.claude } : {}),
  ...(bins.codex ? { codex_bin: bins.codex } : {}),
  env: ["OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", markName],
});

/** With which all three reach the model at `url`; their settings are in `home`. */
export function environmentOf(url: string, home: string): Record<string, string> {
  mkdirSync(join(home, ".codex"), { recursive: true });
  const provider = `name = "own"\nbase_url = "${url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`;
  const settings = `model = "fake"\nmodel_provider = "own"\n[features]\nplugins = false\n[model_providers.own]\n${provider}`;
  writeFileSync(join(home, ".codex/config.toml"), settings);
  return {
    HOME: home,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: ownKey,
    CLAUDE_CODE_MAX_RETRIES: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: ownKey,
    OPENAI_MODEL: "fake",
  };
}

const task = (number: string, deliverable: "text" | "files", depends_on: string[]) => ({
  number,
  title: `Do ${number}`,
  requirements: `Make ${number}.`,
  worker_role: "an engineer",
  qc_role: "a critical reviewer",
  verification: [{ criterion: `${number} is made` }],
  execution: ["write the file with write_file"],
  // Killed agents cost attempts too.
  max_retries: 8,
  files: [],
  notes: "",
  deliverable,
  depends_on,
});

/** The first deliverable of `rejectedOnce` is a draft, which its verifier rejects. */
const rejectedOnce = "1.2";
export const crewTasks = [
  task("0", "text", []),
  task("1.1", "files", ["0"]),
  task(rejectedOnce, "files", ["0"]),
  task("1.3", "text", ["1.1"]),
  task("1.4", "files", ["1.1", rejectedOnce]),
  task("1.5", "files", ["1.4"]),
];
export const crewFiles = crewTasks.filter((one) => one.deliverable === "files").map(({ number }) => number);

/**
 * Plays every part of a crew. It decides by the conversation alone, so that it can be asked again after any crash.
 * The worker of task 0 looks for `secret`, a file outside its folder, with the CLI's own tool and in a command.
 */
export const crewMindOf =
  (secret: string) =>
  (heard: Heard): Reply => {
    const said = heard.messages
      .map((message) => message.text)
      .join("\n")
      .replaceAll("\\", "");
    // CLIs have tools of the same names: ours are those of the MCP server.
    const ours = heard.tools.filter((name) => name.startsWith("mcp__scriptorium"));
    if (heard.tools.length === 0) return { text: "A title." };
    if (ours.length === 0) return searchTools(heard.system);
    const named = (tool: string) => ours.find((name) => name.endsWith(tool));
    const call = (tool: string, input: unknown): Reply => ({ calls: [{ name: named(tool) ?? tool, input }] });
    const number = /# (?:Verify task|Task) ([\d.]+)/.exec(said)?.[1] ?? "";
    if (named("submit_preamble"))
      return said.includes('"hash":"') ? over : call("submit_preamble", { content: preamble });
    if (named("finish_plan")) return /"run":"run-/.test(said) ? over : handIn(named);
    if (named("submit_report"))
      return said.includes('"status":"') ? over : call("submit_report", { content: finalReport });
    if (/"status":"submitted"|"outcome":/.test(said)) return over;
    if (named("submit_verdict")) return verify(said, number, call);
    return work(said, number, secret, heard.tools, call);
  };

type Call = (tool: string, input: unknown) => Reply;

const over: Reply = { text: "Done." };
const preamble = "You do careful work, look twice, and say what you saw. ".repeat(2);
const finalReport = { outcome: "It is made.", reasoning: "As planned.", key_decisions: ["none"] };

/** Qwen Code lists tools of MCP servers by name only, until the model asks for them. */
const searchTools = (system: string): Reply => {
  const names = system.match(/mcp__scriptorium__\w+/g) ?? [];
  const input = { query: `select:${[...new Set(names)].join(",")}`, max_results: 20 };
  return { calls: [{ name: "tool_search", input }] };
};

const handIn = (named: (tool: string) => string | undefined): Reply => ({
  calls: [
    { name: named("add_plan_tasks") ?? "", input: { tasks: crewTasks } },
    { name: named("finish_plan") ?? "", input: { title: "A run of real CLIs" } },
  ],
});

function work(said: string, number: string, secret: string, tools: string[], call: Call): Reply {
  if (number === "0") {
    const own = tools.find((tool) => tool === "Read" || tool === "read_file");
    const input = own === "Read" ? { file_path: secret } : { absolute_path: secret, file_path: secret };
    if (own && !said.includes(secret)) return { calls: [{ name: own, input }] };
    const command = `cat ${secret}; ls -a /; echo looked-inside`;
    if (!said.includes("looked-inside")) return call("run_command", { run: ["sh", "-c", command] });
  }
  if (crewFiles.includes(number) && !said.includes('"bytes":')) {
    const isDraft = number === rejectedOnce && !/^Output of attempt \d+ /m.test(said);
    return call("write_file", { path: `out/${number}.txt`, content: isDraft ? "a draft\n" : `made ${number}\n` });
  }
  return call("submit_output", { output: `made ${number}` });
}

/** Quotes what it has seen itself: its own call of show_diff, or the text. */
function verify(said: string, number: string, call: Call): Reply {
  if (!crewFiles.includes(number))
    return call("submit_verdict", verdict(true, { quote: `made ${number}`, from: "output" }));
  const seen = /"diff":"[\s\S]*?"call":"(call-[\w-]+)"/.exec(said);
  if (!seen) return call("show_diff", {});
  const met = !seen[0].includes("a draft");
  const quote = met ? `+made ${number}` : "+a draft";
  return call("submit_verdict", verdict(met, { quote, from: "call", ref: seen[1] }));
}

const verdict = (met: boolean, evidence: object) => ({
  verdict: met ? "PASS" : "FAIL",
  score: met ? 92 : 40,
  feedback: met ? "It is as asked." : "It is only a draft.",
  issues: met ? [] : ["it is a draft"],
  required_fixes: met ? [] : ["write it out"],
  evidence: [{ criterion: 1, met, ...evidence }],
});
