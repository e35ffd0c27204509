import { findSandbox } from "../../agents/sandbox.ts";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import { type Finding, findingsOf, type Purpose } from "../finding.ts";
import { usesCrew } from "./agents.ts";

/** Whether agents can be confined here: those of runs, and those of jobs if jobs are on. */
export async function checkSandbox(config: Config | undefined, env: Environment): Promise<Finding[]> {
  const found = await findSandbox("auto", env);
  const check = (purpose: Purpose, block: "crew" | "agent", isUsed: boolean): Finding => {
    const { ok, warning, missing, optional } = findingsOf(purpose, "sandbox");
    if (config?.[block]?.sandbox === "none") {
      const fix = `delete \`sandbox: none\` from ${block} in scriptorium.yaml${found.ok ? "" : `; ${install}`}`;
      return warning(`${block}.sandbox is none: agents and their commands run with your permissions`, fix);
    }
    if (!found.ok) {
      const without = block === "crew" ? "; plan and execute refuse to start" : "";
      return (isUsed ? missing : optional)(`${found.problem.message}${without}`, install);
    }
    return ok(descriptions[found.value.name]);
  };
  return [
    check("crew", "crew", config !== undefined && usesCrew(config)),
    ...(config?.agent ? [check("jobs", "agent", true)] : []),
  ];
}

const install =
  process.platform === "linux" ? "apt install bubblewrap" : "run agents on Linux, or in a virtual machine with Linux";

const descriptions = {
  bubblewrap: "bubblewrap can start a sandbox",
  seatbelt: "the sandbox of macOS is available (not tested by this project)",
  none: "",
};
