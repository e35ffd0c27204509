import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { openApp } from "../app.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { doctor } from "../doctor/doctor.ts";
import { type Diagnosis, diagnose, type Finding, findingsOf, purposes } from "../doctor/finding.ts";
import { Refused, unwrap } from "../kernel/result.ts";
import { machineTrouble } from "./machine-trouble.ts";
import { type Common, gitPerson, print } from "./session.ts";
import { shell } from "./shell.ts";
import { bold, dim, green, red, yellow } from "./text.ts";

export const doctorCommand = (common: () => Common) =>
  new Command("doctor")
    .description("check this workspace and what it needs from this machine")
    .option("--rebuild", "first rebuild the index of entries from git")
    .addHelpText(
      "after",
      `
Each finding names the part that needs it and has a state:
  ok        as it should be
  optional  not set up; nothing configured needs it
  missing   configured, but not on this machine
  warning   works, but look at it
  problem   the workspace is damaged or cannot be used

Exit code 1 if there is a problem, otherwise 0.`,
    )
    .action(async ({ rebuild = false }) => {
      const found = await examine(common(), rebuild);
      if (!found.healthy) shell().exitCode = 1;
      print(common(), { ok: true, value: found }, described);
    });

/** The machine is checked also where there is no workspace, or none that can be opened. */
async function examine(common: Common, rebuild: boolean): Promise<Diagnosis> {
  const { env, cwd } = shell();
  const folder = resolve(cwd, common.dir ?? ".");
  const { problem } = findingsOf("wiki", "workspace");
  const root = findWorkspace(folder);
  const config = root.ok ? loadConfig(root.value, env) : root;
  const { checkMachine } = await import("../doctor/machine.ts");
  const machine = await checkMachine(config.ok ? config.value : undefined, env, folder);
  if (!root.ok) {
    const message = `${folder} is not in a workspace: no scriptorium.yaml here or in a parent folder`;
    return diagnose([problem(message, "scriptorium init"), ...machine]);
  }
  if (!config.ok) return diagnose([problem(config.problem.message), ...machine]);
  return diagnose([...machine, ...(await checkWorkspace(config.value, rebuild))]);
}

async function checkWorkspace(config: Config, rebuild: boolean): Promise<Finding[]> {
  try {
    const app = await openApp(config);
    try {
      if (rebuild) await app.rebuild();
      return unwrap(await doctor.perform(app, {}, await gitPerson(app))).findings;
    } finally {
      await app.close();
    }
  } catch (error) {
    const { problem } = findingsOf("wiki", "workspace");
    const message = error instanceof Refused ? error.problem.message : machineTrouble(error);
    if (message === undefined) throw error;
    return [problem(message)];
  }
}

const titles = { wiki: "Wiki", serve: "Server", jobs: "Jobs", crew: "Crew", search: "Search" };
const marks = {
  ok: green("ok      "),
  optional: dim("optional"),
  missing: yellow("missing "),
  warning: yellow("warning "),
  problem: red("problem "),
};

function described({ findings }: Diagnosis): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = " ".repeat(2 + 8 + 2 + width + 2);
  const line = ({ state, check, message, fix }: Finding) =>
    `  ${marks[state]}  ${check.padEnd(width)}  ${message}${fix ? `\n${indent}${dim("→")} ${fix}` : ""}`;
  return purposes
    .map((purpose) => [bold(titles[purpose]), ...findings.filter((one) => one.for === purpose).map(line)])
    .filter((group) => group.length > 1)
    .map((group) => group.join("\n"))
    .join("\n\n");
}
