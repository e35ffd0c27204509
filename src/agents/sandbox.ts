import type { SandboxConfig } from "../config/sandbox.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { NetworkPolicy } from "./network/policy.ts";
import type { Sandbox, SandboxAccess } from "./sandbox/access.ts";
import { bubblewrapSandbox } from "./sandbox/bubblewrap.ts";
import { withRlimits } from "./sandbox/rlimits.ts";
import { seatbeltSandbox } from "./sandbox/seatbelt.ts";

/**
 * Agents are confined by the operating system, not by prompts (T32, T33). Running without a sandbox has to be
 * configured by a person; it is never a fallback.
 */
export async function findSandbox(
  mode: SandboxConfig["sandbox"],
  environment: Record<string, string | undefined>,
  platform: NodeJS.Platform = process.platform,
): Promise<Result<Sandbox>> {
  if (mode === "none") return ok(noSandbox);
  if (platform === "linux") return bubblewrapSandbox(environment);
  if (platform === "darwin") return seatbeltSandbox();
  return refuse("refused", `no sandbox is available on ${platform}; run Scriptorium on Linux or macOS, or in WSL 2`);
}

const noSandbox: Sandbox = {
  name: "none",
  hasOwnLoopback: false,
  home: undefined,
  wrap(argv, { env }) {
    const [command = "", ...args] = withRlimits(argv);
    return { command, args, env };
  },
};

/** The access of an agent that runs as a program. */
export type SandboxPolicy = Pick<SandboxAccess, "write" | "hide" | "limits" | "repository"> & {
  sandbox: Sandbox;
  network: NetworkPolicy;
  /** Further folders and files that it can read. */
  read: readonly string[];
  /** Writable files, such as a login; those in the home are mapped into the sandbox's home. */
  own: readonly string[];
};
