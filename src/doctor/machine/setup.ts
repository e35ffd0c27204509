import { findProgram } from "../../agents/program.ts";
import type { Config } from "../../config/config.ts";
import { openGit } from "../../config/open-git.ts";
import { detectedSetup } from "../../crew/record/setup-spec.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { usesCrew } from "./agents.ts";

const fixes = {
  npm: "install Node.js with npm",
  pnpm: "npm install --global pnpm",
  yarn: "npm install --global yarn",
};

/** Whether the package manager that the lockfile asks for is here: runs install their dependencies with it. */
export async function checkSetup(config: Config): Promise<Finding[]> {
  const { ok, missing, optional } = findingsOf("crew", "setup");
  const { root, environment } = config;
  const detected = await detectedSetup({ git: openGit(root, environment), config });
  if (!detected) return [];
  const [program = "", ...args] = detected.command;
  if (findProgram(program, environment.PATH ?? "", "/"))
    return [ok(`runs install their dependencies with ${[program, ...args].join(" ")} (${detected.lockfile})`)];
  const message = `${program} is not in PATH; runs need it to install what ${detected.lockfile} names`;
  return [(usesCrew(config) ? missing : optional)(message, fixes[detected.manager])];
}
