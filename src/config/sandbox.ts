import { isAbsolute } from "node:path";
import * as z from "zod";

const limits = z
  .strictObject({
    memory_mb: z.int().min(64).max(1_048_576).default(4096).describe("Memory of all its processes, in MiB"),
    processes: z.int().min(16).max(32_768).default(1024).describe("Maximum number of processes and threads"),
    cpu_minutes: z.number().min(0.01).max(100_000).default(120).describe("CPU time of all its processes, in minutes"),
    disk_mb: z.int().min(1).max(1_048_576).default(4096).describe("Data that it may write to its folder, in MiB"),
  })
  .prefault({})
  .describe("Resource limits of one agent, command or check. It is stopped when it exceeds one");

/** The keys that describe a sandbox, in every block that has one. */
export const sandboxKeys = {
  sandbox: z
    .enum(["auto", "bubblewrap", "none"], { error: "expected auto, or none to run without a sandbox" })
    .default("auto")
    .describe(
      "Sandbox of the programs. `auto` is bubblewrap on Linux and Seatbelt on macOS. `none` runs them with your permissions. `bubblewrap` is an older name of `auto`",
    ),
  read: z
    .array(z.string().refine(isAbsolute, "expected an absolute path"))
    .max(50)
    .default([])
    .describe("Further absolute paths that the sandbox can read, such as a toolchain"),
  own: z
    .array(z.string().regex(/^(\/|~\/)/, "expected an absolute path, or one that starts with ~/"))
    .max(50)
    .default([])
    .describe("Further paths that an agent CLI can read and write, such as its login"),
  limits,
};

export type SandboxLimits = z.infer<typeof limits>;
export type SandboxConfig = {
  sandbox: "auto" | "bubblewrap" | "none";
  read: string[];
  own: string[];
  limits: SandboxLimits;
};
