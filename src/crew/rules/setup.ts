import { createHash } from "node:crypto";
import type { Plan } from "./plan.ts";

export type PackageManager = "npm" | "pnpm" | "yarn";

/** The package manager of a repository, told from the lockfile at the top of the workspace. */
export type DetectedManager = {
  manager: PackageManager;
  lockfile: string;
  args: readonly string[];
};

/** How a run gets its dependencies. `inputs` is undefined for the dependency files that `isDependencyFile` finds. */
export type WantedSetup = {
  commands: readonly (readonly string[])[];
  origin: string;
  inputs: readonly string[] | undefined;
};

const lockfiles: readonly [string, PackageManager][] = [
  ["npm-shrinkwrap.json", "npm"],
  ["package-lock.json", "npm"],
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
];

/**
 * Looks at the top of the workspace only: a lockfile in a subfolder belongs to a package that a plan can install by a
 * setup of its own. With several lockfiles, `packageManager` in package.json decides.
 */
export function detectManager(
  names: ReadonlySet<string>,
  { packageJson, yarnLock }: { packageJson: string | undefined; yarnLock: string | undefined },
): DetectedManager | undefined {
  const found = lockfiles.filter(([name]) => names.has(name));
  const declared = /^(npm|pnpm|yarn)@(\d+)/.exec(String(parsedObject(packageJson)?.packageManager ?? ""));
  const [lockfile, manager] = found.find(([, name]) => name === declared?.[1]) ?? found[0] ?? [];
  if (!lockfile || !manager || !names.has("package.json")) return undefined;
  if (manager === "npm") return { manager, lockfile, args: ["ci"] };
  if (manager === "pnpm") return { manager, lockfile, args: ["install", "--frozen-lockfile"] };
  // The lockfile of yarn 2 and later begins with its metadata.
  const isBerry = declared?.[1] === "yarn" ? Number(declared[2]) >= 2 : /^__metadata:/m.test(yarnLock ?? "");
  return { manager, lockfile, args: ["install", isBerry ? "--immutable" : "--frozen-lockfile"] };
}

/** The origin of a setup that a plan declares: its commands can be anything. */
export const ofPlan = "the plan";

/** A detected command as it fills the caches of its package manager without running a script. */
export function downloadCommand(command: readonly string[]): readonly string[] {
  const isBerry = command.includes("yarn") && command.includes("--immutable");
  return [...command, isBerry ? "--mode=skip-build" : "--ignore-scripts"];
}

/** Files with which a repository chooses programs, registries or versions for its package manager. */
export const managerSettings = (path: string) =>
  /(^|\/)(\.npmrc|\.pnpmfile\.[cm]?js|pnpm-workspace\.yaml|\.yarnrc|\.yarnrc\.yml|\.corepack\.env)$/.test(path) ||
  /(^|\/)\.yarn\//.test(path);

/** A program of the repository that its package manager runs even without scripts; undefined if there is none. */
export function managerProgram(paths: Iterable<string>, yarnrcs: readonly string[]): string | undefined {
  const file = [...paths].find(
    (path) => /(^|\/)\.pnpmfile\.[cm]?js$/.test(path) || /(^|\/)\.yarn\/plugins\//.test(path),
  );
  if (file !== undefined) return file;
  const names = yarnrcs.flatMap((text) => /^[ \t]*["']?(yarnPath|yarn-path|plugins)\b/m.exec(text)?.[1] ?? []);
  return names[0] === undefined ? undefined : `${names[0]} of yarn`;
}

/** A plan's own setup overrides the detected one; one without commands turns it off. */
export function wantedSetup(
  mode: "auto" | "none",
  plan: Pick<Plan, "setup"> | null,
  detected: (Omit<DetectedManager, "args"> & { command: readonly string[] }) | undefined,
): WantedSetup | undefined {
  if (mode === "none") return undefined;
  if (plan?.setup) {
    const { run, inputs } = plan.setup;
    return run.length === 0 ? undefined : { commands: run, origin: ofPlan, inputs };
  }
  return detected && { commands: [detected.command], origin: detected.lockfile, inputs: undefined };
}

const dependencyFiles = new Set([
  ...["package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc"],
  ...["pnpm-lock.yaml", "pnpm-workspace.yaml", ".pnpmfile.cjs", "yarn.lock", ".yarnrc", ".yarnrc.yml"],
]);

/** The files that decide what npm, pnpm and yarn install: also those of workspaces, and patches. */
export const isDependencyFile = (path: string) =>
  !/(^|\/)node_modules\//.test(path) &&
  (dependencyFiles.has(path.split("/").at(-1) ?? "") || /^(patches|\.yarn\/(patches|plugins|releases))\//.test(path));

const manifestKeys = [
  ...["name", "bin", "workspaces", "packageManager", "engines", "os", "cpu", "overrides", "resolutions", "pnpm"],
  ...["dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta"],
  ...["dependenciesMeta", "bundledDependencies", "bundleDependencies", "installConfig"],
];
const installScripts = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/** The part of a package.json that an install depends on: a new test script must not install everything again. */
export function manifestPart(text: string): string {
  const manifest = parsedObject(text);
  if (!manifest) return text;
  const scripts = (manifest.scripts ?? {}) as Record<string, unknown>;
  return JSON.stringify([manifestKeys.map((key) => manifest[key]), installScripts.map((name) => scripts[name])]);
}

function parsedObject(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

type Machine = { platform: string; arch: string; node: string };

/** Equal hashes install the same: commands, contents of the inputs, platform and version of Node. */
export const setupHash = (
  commands: WantedSetup["commands"],
  inputs: readonly (readonly [path: string, content: string])[],
  { platform, arch, node }: Machine,
) => hash([formatVersion, commands, inputs, platform, arch, node]);

/** Changes when the form of what is cached does. */
const formatVersion = 1;

/**
 * The names under which a result may be found, and under the last of which it is stored. A result that comes from an
 * agent's files is stored apart, since install scripts can use files that the hash does not cover: accepted work by
 * its run, a deliverable that is not accepted by its tree. So nothing that an agent wrote reaches others through the
 * cache before it is accepted, or another run before a person has merged it.
 */
export function cacheNames(
  setup: string,
  from: { kind: "person" } | { kind: "accepted"; run: string } | { kind: "deliverable"; run: string; tree: string },
): [string, ...string[]] {
  const own = [setup] as [string, ...string[]];
  if (from.kind !== "person") own.push(hash([setup, from.run]));
  if (from.kind === "deliverable") own.push(hash([setup, from.run, from.tree]));
  return own;
}

const hash = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 40);

export const commandLines = (commands: WantedSetup["commands"]) =>
  commands.map((command) => command.join(" ")).join("; ");
