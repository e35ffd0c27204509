import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { Finding } from "./finding.ts";
import { checkCrewAgents, checkJobAgent } from "./machine/agents.ts";
import { checkDisk, checkGit, checkNode } from "./machine/basics.ts";
import { checkPort } from "./machine/port.ts";
import { checkRepositoryPrograms } from "./machine/repository-programs.ts";
import { checkSandbox } from "./machine/sandbox.ts";
import { checkEmbeddings } from "./machine/search.ts";
import { checkSetup } from "./machine/setup.ts";
import { checkTrust } from "./machine/trust.ts";

/** What the workspace, or one that is yet to be created, needs from this machine. Every check has a time limit. */
export async function checkMachine(config: Config | undefined, env: Environment, folder: string): Promise<Finding[]> {
  const found = await Promise.all([
    checkNode(),
    checkGit(folder, env),
    checkDisk(config?.stateFolder ?? folder),
    ...(config ? [checkTrust(config), checkRepositoryPrograms(config), checkPort(config), checkSetup(config)] : []),
    // These start programs and ask servers that the configuration names.
    ...(config?.trust.check("agents").ok === false
      ? []
      : [checkSandbox(config, env), checkCrewAgents(config, env), ...(config ? [checkJobAgent(config)] : [])]),
    ...(config?.trust.check("search").ok ? [checkEmbeddings(config)] : []),
  ]);
  return found.flat();
}
