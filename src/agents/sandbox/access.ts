import type { SandboxLimits } from "../../config/sandbox.ts";

/** The folder a program runs in and what it can reach; the rest of the machine does not exist for it. */
export type SandboxAccess = {
  folder: string;
  /** False makes the folder read-only. */
  write: boolean;
  /** Folders inside `folder` that are empty in the sandbox. */
  hide?: readonly string[];
  /** Further readable folders and files. */
  read?: readonly string[];
  /** Writable files, and their paths inside. */
  own?: readonly { from: string; to: string }[];
  /** The repository that git finds from `folder`; without one, git finds none. */
  repository?: PrivateRepository;
  /** Ports of its relay. Only a sandbox that shares the machine's loopback has to allow them. */
  ports?: readonly number[];
  limits: SandboxLimits;
  env: Record<string, string>;
};

/** A repository of the agent's own: `gitDir` is writable, `top` is the folder of the checkout. */
export type PrivateRepository = { gitDir: string; top: string };

/** A command line that starts a program in its sandbox. */
export type SandboxedCommand = {
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Read by the sandbox at its start, on the file descriptors 3, 4, 5 and so on. */
  inputs?: readonly Buffer[];
  /** Set if this process has to enforce limits; the sandbox reports its first process on the descriptor after `inputs`. */
  watched?: { limits: SandboxLimits; folder: string };
  /** Folders to delete when the program has ended. */
  temporary?: readonly string[];
};

export interface Sandbox {
  readonly name: "bubblewrap" | "seatbelt" | "none";
  /** False if the program shares the machine's loopback: ports of the relay must then differ between agents. */
  readonly hasOwnLoopback: boolean;
  /** The home inside: empty at first, deleted afterwards. Undefined if the program keeps the paths of the machine. */
  readonly home: string | undefined;
  wrap(argv: readonly [string, ...string[]], access: SandboxAccess): SandboxedCommand;
}
