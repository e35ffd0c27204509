import { findSandbox } from "../../agents/sandbox.ts";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { usesCrew } from "./agents.ts";

/** Whether agents of a crew can be confined here. */
export async function checkSandbox(config: Config | undefined, env: Environment): Promise<Finding[]> {
  const { ok, warning, missing, optional } = findingsOf("crew", "sandbox");
  if (config?.crew.sandbox === "none") {
    const fix = "apt install bubblewrap, then delete `sandbox: none` from crew in scriptorium.yaml";
    return [warning("crew.sandbox is none: agents and their commands run without a sandbox", fix)];
  }
  const absent = config && usesCrew(config) ? missing : optional;
  if (process.platform !== "linux") {
    const message =
      "the sandbox needs bubblewrap, which exists for Linux only; plan and execute refuse to run without it";
    return [absent(message, "to run without a sandbox, add to scriptorium.yaml: crew: {sandbox: none}")];
  }
  const found = await findSandbox("bubblewrap", env);
  if (found.ok) return [ok("bubblewrap can start a sandbox")];
  return [absent(found.problem.message, "apt install bubblewrap")];
}
