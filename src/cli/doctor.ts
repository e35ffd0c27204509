import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { openApp } from "../app.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { examine as examineWorkspace } from "../doctor/doctor.ts";
import { type Diagnosis, diagnose, type Finding, findingsOf, purposes } from "../doctor/finding.ts";
import { Refused } from "../kernel/result.ts";
import { machineTrouble } from "./machine-trouble.ts";
import { type Common, print, report, tellWaiting } from "./session.ts";
import { shell, writeErr } from "./shell.ts";
import { bold, dim, green, red, yellow } from "./text.ts";

export const doctorCommand = (common: () => Common) =>
  new Command("doctor")
    .description("check this workspace and what it needs from this machine")
    .option("--rebuild", "first rebuild the index of entries from git")
    .option("--fix", "repair what can be repaired without losing anything, and say what was repaired")
    .option("--acknowledge <id>", "accept a finding as it is; it returns when it changes")
    .option("--note <text>", "with --acknowledge: why it is acceptable")
    .option("--all", "list acknowledged findings too")
    .addHelpText(
      "after",
      `
Each finding names the part that needs it and has a state:
  ok        as it should be
  optional  not set up; nothing configured needs it
  missing   configured, but not on this machine
  warning   works, but look at it
  problem   the workspace is damaged or cannot be used

Exit code 1 if there is a problem that nobody has acknowledged, otherwise 0.`,
    )
    .action(async ({ rebuild = false, fix = false, all = false, acknowledge, note }) => {
      if (note !== undefined && acknowledge === undefined)
        throw new Refused({ code: "invalid", message: "--note belongs to --acknowledge <id>" });
      if (acknowledge !== undefined) return acknowledgeOne(common(), acknowledge, note);
      if (fix) await repairWorkspace(common());
      const found = await examine(common(), rebuild);
      if (!found.healthy) shell().exitCode = 1;
      if (!fix || !common().json) print(common(), { ok: true, value: found }, (value) => described(value, all));
    });

const acknowledgeOne = async (common: Common, id: string, note: string | undefined) => {
  const { acknowledgeFinding } = await import("../doctor/acknowledge.ts");
  const said = (one: Finding) => `${one.id} acknowledged: ${one.message}`;
  await report(common, acknowledgeFinding, { id, note }, said);
};

/** With --json, prints the repairs together with the findings that are left. */
async function repairWorkspace(common: Common): Promise<void> {
  const { doctorFix } = await import("../doctor/fix.ts");
  await report(common, doctorFix, {}, ({ repaired }) => {
    if (repaired.length === 0) return "Nothing could be repaired.\n";
    const lines = repaired.map(({ subject, before, after }) => `  ${subject}: ${before} → ${after}`);
    return `${bold("Repaired")}\n${lines.join("\n")}\n\n`;
  });
}

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
    const app = await openApp(config, { tellProgress: tellWaiting });
    try {
      if (rebuild) await app.rebuild();
      return await examineWorkspace(app, tellProgress());
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

/** Says on a terminal what is being checked: a long history takes a while. */
function tellProgress(): (what: string) => void {
  const { stderr } = shell();
  return (stderr as { isTTY?: boolean }).isTTY ? (what) => writeErr(`${dim(`${what} …`)}\n`) : () => undefined;
}

const titles = { wiki: "Wiki", serve: "Server", jobs: "Jobs", crew: "Crew", search: "Search" };
const marks = {
  ok: green("ok      "),
  optional: dim("optional"),
  missing: yellow("missing "),
  warning: yellow("warning "),
  problem: red("problem "),
};

function described({ findings: found }: Diagnosis, all: boolean): string {
  const hidden = all ? 0 : found.filter((one) => one.acknowledged).length;
  const findings = all ? found : found.filter((one) => !one.acknowledged);
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = " ".repeat(2 + 8 + 2 + width + 2);
  const line = ({ id, state, check, message, fix, acknowledged }: Finding) => {
    const next = acknowledged
      ? `acknowledged by ${acknowledged.by} on ${acknowledged.at.slice(0, 10)}${acknowledged.note ? `: ${acknowledged.note}` : ""}`
      : fix;
    const name = state === "problem" || state === "warning" ? `${dim(id)}  ` : "";
    const below = next || name ? `\n${indent}${name}${next ? `${dim("→")} ${next}` : ""}` : "";
    return `  ${acknowledged ? dim("known   ") : marks[state]}  ${check.padEnd(width)}  ${message}${below}`;
  };
  const groups = purposes
    .map((purpose) => [bold(titles[purpose]), ...findings.filter((one) => one.for === purpose).map(line)])
    .filter((group) => group.length > 1)
    .map((group) => group.join("\n"));
  const more = `${hidden} acknowledged ${hidden === 1 ? "finding" : "findings"}: scriptorium doctor --all`;
  return [...groups, ...(hidden > 0 ? [dim(more)] : [])].join("\n\n");
}
