import * as z from "zod";
import type { Sandbox, SandboxAccess } from "../../../agents/sandbox/access.ts";
import type { SandboxLimits } from "../../../config/sandbox.ts";
import { filePath } from "../../rules/plan.ts";

/** The folder an agent works in, and its permissions there. */
export type Desk = {
  /** A function creates the folder on first use: many agents never open it. */
  folder: string | (() => Promise<string>);
  /** False if the agent may only read. A verifier writes in a scratch copy of what it judges. */
  write: boolean;
  sandbox: Sandbox;
  read?: readonly string[];
  limits: SandboxLimits;
  env: Record<string, string>;
  run: string;
  commandMs: number;
  signal: AbortSignal;
  /** What belongs to an opened folder: its private repository and scratch space. */
  beside?: (folder: string) => Beside | undefined;
};

export type Beside = Pick<SandboxAccess, "repository"> & {
  /** A private folder that is deleted with the checkout. */
  scratch: string;
  /** Patterns of .git/info/exclude. */
  exclude?: string;
};

export const folderOf = async ({ folder }: Pick<Desk, "folder">) => (typeof folder === "string" ? folder : folder());

type Confined = Pick<Desk, "folder" | "read" | "limits" | "env" | "beside">;

/** The access of a command or check that runs at a desk. */
export async function accessOf(desk: Confined): Promise<SandboxAccess> {
  const folder = await folderOf(desk);
  const repository = desk.beside?.(folder)?.repository;
  const { read = [], limits, env } = desk;
  return { folder, write: true, read, limits, env, ...(repository ? { repository } : {}) };
}

export const path = filePath;
export const under = filePath.optional().describe("Folder");
export const glob = z.string().min(1).max(200).optional().describe("As in .gitignore");
export const skip = z.int().min(0).default(0).describe("`next` of the page before");

/** What all tools of a desk have in common. */
export const deskTool = { callers: ["agent"], group: "crew" } as const;
export const reading = { ...deskTool, effect: "reads", reads: [] } as const;
export const writing = { ...deskTool, effect: "writes", touches: [] } as const;
