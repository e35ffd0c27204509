import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { networkPolicy } from "../../agents/network/policy.ts";
import type { RunResult, TranscriptEntry } from "../../agents/runner.ts";
import type { Sandbox } from "../../agents/sandbox/access.ts";
import { type AgentSetup, setUpAgent } from "../../agents/setup.ts";
import type { Config } from "../../config/config.ts";
import { redactor } from "../../kernel/redact.ts";
import { storable } from "../../kernel/storable.ts";
import { agentChoices } from "./choices.ts";

/** The outcome of one small call of the configured agent. */
export type Trial = {
  works: boolean;
  said: string | null;
  error: string | null;
  /** What to do about the error. */
  fix: string | null;
  stderr: string;
  duration_ms: number;
  cost_usd: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
};

const prompt = "Reply with the single word ready. Do not use any tool.";
const longestMs = 90_000;
const mostText = 2000;

/** Starts the agent of jobs as a job would, in a sandbox and an empty folder, with a prompt that takes one short answer. */
export async function tryAgent(config: Config): Promise<Trial> {
  const setup = setUpAgent(config);
  if (!setup.ok) return notStarted(setup.problem.message, installAdvice(config));
  const sandbox = await setup.value.findSandbox?.();
  if (sandbox && !sandbox.ok) return notStarted(sandbox.problem.message, null);
  const said: string[] = [];
  const ran = await runOnce(config, setup.value, sandbox?.value, (entry) => {
    if (entry.kind === "said") said.push(entry.text);
  });
  const redact = redactor(config.environment);
  const shown = (text: string) => storable(redact(text));
  const answer = shown(said.join("\n").trim());
  const works = ran.exitCode === 0 && ran.ended === "exit" && ran.error === undefined;
  return {
    works,
    said: answer === "" ? null : answer.slice(0, mostText),
    error: works ? null : shown(ran.error ?? ended(ran)),
    fix: works ? null : adviceFor(ran, config),
    stderr: shown(ran.errorTail).slice(-mostText),
    duration_ms: ran.durationMs,
    cost_usd: ran.costUsd,
    input_tokens: ran.usage.inputTokens,
    output_tokens: ran.usage.outputTokens,
  };
}

async function runOnce(
  config: Config,
  { agent, runner, env, skills, scribeFiles }: AgentSetup,
  sandbox: Sandbox | undefined,
  onEntry: (entry: TranscriptEntry) => void,
): Promise<RunResult> {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), "scriptorium-trial-")));
  try {
    const policy = sandbox &&
      sandbox.name !== "none" && {
        ...{ sandbox, write: true, hide: [], limits: agent.limits, own: agent.own },
        network: networkPolicy(config, "agent"),
        read: [...agent.read, ...scribeFiles, skills],
      };
    return await runner.run(
      {
        ...{ id: `trial-${process.pid}-${Date.now()}`, prompt, cwd, env, onEntry },
        limits: { wallMs: longestMs, afterResultMs: 5000 },
        ...(policy ? { sandboxPolicy: policy } : {}),
        ...(agent.model ? { model: agent.model } : {}),
      },
      new AbortController().signal,
    );
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

const notStarted = (error: string, fix: string | null): Trial => ({
  ...{ works: false, said: null, error, fix, stderr: "", duration_ms: 0 },
  ...{ cost_usd: null, input_tokens: null, output_tokens: null },
});

const ended = ({ ended: how, exitCode }: RunResult) =>
  how === "timeout" ? "the agent did not answer in time" : `the agent exited with code ${exitCode ?? "unknown"}`;

const choiceOf = ({ agent }: Config) =>
  agentChoices.find(({ runner, command }) =>
    runner === "acp" ? agent?.runner === "acp" && command?.[0] === agent.command[0] : runner === agent?.runner,
  );

function installAdvice(config: Config): string | null {
  const choice = choiceOf(config);
  return choice ? `Install it: ${choice.install}. Or choose another agent.` : null;
}

/** The likely cause, from the outcome: a refused host, a login, or a limit of time. */
function adviceFor(ran: RunResult, config: Config): string {
  const refused = ran.destinations?.find(({ allowed }) => !allowed);
  if (refused)
    return `Its sandbox refused ${refused.destination}. If it is the address of its model, add the host to agent.network_hosts in scriptorium.yaml.`;
  const choice = choiceOf(config);
  const text = `${ran.error ?? ""} ${ran.errorTail}`;
  if (ran.outage === "passes") return "The provider of the model does not answer. Test again later.";
  if (ran.ended === "timeout") return "Test again; if it stays silent, start it in a terminal and see what it asks.";
  if (ran.outage === "person" || /log(ged)? ?in|sign in|api key|auth|401|403/i.test(text))
    return choice ? `Sign in: ${choice.signIn}. Then restart Scriptorium and test again.` : "Sign in, then test again.";
  return "Start it in a terminal to see whether it works there, and correct the agent block of scriptorium.yaml.";
}
