import { Command } from "@commander-js/extra-typings";
import { ok } from "../kernel/result.ts";
import { configureAgent, showAgents, testAgent } from "../setup/agent/operations.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, perform, print, report, withApp } from "./session.ts";
import { bold, colouredDiff, dim, inertly, table } from "./text.ts";

export const agentCommand = (common: () => Common) =>
  new Command("agent")
    .description("set up and test the agent that runs jobs")
    .addCommand(
      new Command("show")
        .description("list the agent programs and keys on this machine, and the one in use")
        .action(() => report(common(), showAgents, {}, listed)),
    )
    .addCommand(
      new Command("set")
        .description("write the agent into scriptorium.yaml, after showing the change")
        .argument("<name>", "claude, codex, gemini, qwen, opencode or copilot")
        .option("--model <name>", "model to request (default: the program's own)")
        .option("--show", "only show the change")
        .action((agent, { model, show }) => set(common(), { agent, model }, show ?? false)),
    )
    .addCommand(
      new Command("test")
        .description("start the agent once with a short prompt; this is a real call of its model")
        .action(() => report(common(), testAgent, {}, tried)),
    );

async function set(common: Common, input: { agent: string; model: string | undefined }, show: boolean): Promise<void> {
  await withApp(common, async (app) => {
    const plan = await perform(app, common, configureAgent, input);
    if (!plan.ok || show || plan.value.diff === "") return print(common, plan, described);
    const confirmation: Confirmation = {
      word: "write",
      preview: async () => ok({ text: described(inertly(plan.value)) }),
    };
    const done = await perform(app, common, configureAgent, { ...input, hash: plan.value.hash }, confirmation);
    print(common, done, described);
  });
}

type Change = OutputOf<typeof configureAgent>;

function described({ diff, allows, waiting, written }: Change): string {
  if (diff === "") return "scriptorium.yaml has this agent already";
  const more = allows.map(({ key, value, why }) => `  ${key}: ${value}${why ? dim(`  # ${why}`) : ""}`);
  return [
    colouredDiff(diff.trimEnd()),
    ...(more.length > 0 && !waiting ? ["", "This also allows on this machine:", ...more] : []),
    ...(waiting ? ["", "Other settings wait to be allowed first: scriptorium allow"] : []),
    ...(written ? ["", "scriptorium.yaml is written. Test it: scriptorium agent test"] : []),
  ].join("\n");
}

function listed({ present, programs, keys }: OutputOf<typeof showAgents>): string {
  const login = (found: boolean | null) => (found === null ? "" : found ? "signed in" : "not signed in");
  const rows = programs.map(({ name, title, path, version, login: found, install }) =>
    path ? [name, title, version ?? "", login(found)] : [name, title, "not installed", dim(install)],
  );
  const used = present
    ? `${[present.runner, ...present.command].join(" ")}${present.model ? `, model ${present.model}` : ""}`
    : "none; set one with: scriptorium agent set <name>";
  return [`${bold("In use")}  ${used}`, "", table(rows), "", `Keys set: ${keys.join(", ") || "none"}`].join("\n");
}

const tried = ({ works, said, error, fix, duration_ms }: OutputOf<typeof testAgent>): string =>
  works
    ? `the agent answered in ${(duration_ms / 1000).toFixed(1)} s${said ? `: ${said}` : ""}`
    : [`the agent does not work: ${error}`, ...(fix ? [fix] : [])].join("\n");
