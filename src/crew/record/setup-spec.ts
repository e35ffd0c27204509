import { findProgram } from "../../agents/program.ts";
import { programVersion } from "../../agents/program-version.ts";
import type { Config } from "../../config/config.ts";
import type { Git } from "../../store/git/git.ts";
import type { Plan } from "../rules/plan.ts";
import {
  type DetectedManager,
  detectManager,
  isDependencyFile,
  managerProgram,
  managerSettings,
  manifestPart,
  ofPlan,
  setupHash,
  type WantedSetup,
  wantedSetup,
} from "../rules/setup.ts";
import type { CrewApp } from "./crew-app.ts";

/** A setup of one commit; equal hashes install the same. */
export type SetupSpec = WantedSetup & { hash: string };

/** The setup that a plan declares for a commit, or else the one that its lockfile asks for. */
export async function setupOf(
  app: CrewApp,
  plan: Pick<Plan, "setup"> | null,
  commit: string,
): Promise<SetupSpec | undefined> {
  const { crew, environment } = app.config;
  if (crew.setup === "none") return undefined;
  const files = await filesIn(app.git, commit);
  const detected = await detectedIn(app.git, files);
  const wanted = wantedSetup(crew.setup, plan, detected && { ...detected, command: commandOf(detected, environment) });
  if (!wanted) return undefined;
  const inputs = await contentsOf(app.git, commit, files, wanted.inputs);
  const { platform, arch } = process;
  return { ...wanted, hash: setupHash(wanted.commands, inputs, { platform, arch, node: await nodeVersion(app) }) };
}

/** The setup that the last commit of the person asks for by itself, for planner and doctor. */
export async function detectedSetup({ git, config }: { git: Git; config: Config }) {
  const { commit } = await git.head();
  const detected =
    commit && config.crew.setup !== "none" ? await detectedIn(git, await filesIn(git, commit)) : undefined;
  return detected && { ...detected, command: commandOf(detected, config.environment) };
}

/**
 * Why the person's logins for registries stay out of a setup; undefined if they can be used. They are for commands that
 * are known to run no program of the repository, with settings that the person has committed.
 */
export async function loginObstacle(
  { git }: { git: Git },
  { origin }: SetupSpec,
  commit: string,
): Promise<string | undefined> {
  if (origin === ofPlan) return "the plan declares the commands, which could be anything";
  const files = await filesIn(git, commit);
  const settings = [...files.keys()].filter(managerSettings);
  const yarnrcs = settings.filter((path) => /\.yarnrc(\.yml)?$/.test(path));
  const texts = await readBlobs(
    git,
    yarnrcs.map((path) => files.get(path) ?? ""),
  );
  const program = managerProgram(files.keys(), texts);
  if (program !== undefined) return `the package manager would run a program of the repository: ${program}`;
  const { commit: head } = await git.head();
  if (head === undefined || (await git.isAncestor(commit, head))) return undefined;
  const own = await filesIn(git, head);
  const changed = settings.find((path) => own.get(path) !== files.get(path));
  return changed === undefined ? undefined : `${changed} is not as in your last commit`;
}

/** corepack brings pnpm and yarn where they are not installed. */
function commandOf({ manager, args }: DetectedManager, env: Record<string, string | undefined>): string[] {
  const isThere = (name: string) => findProgram(name, env.PATH ?? "", "/") !== undefined;
  const viaCorepack = manager !== "npm" && !isThere(manager) && isThere("corepack");
  return [...(viaCorepack ? ["corepack"] : []), manager, ...args];
}

type Files = ReadonlyMap<string, string>;

/** The blobs of a commit by path, below the workspace. */
async function filesIn(git: Git, commit: string): Promise<Files> {
  const listed = await git.list(["ls-tree", "-r", "-z", commit]);
  return new Map(
    listed.flatMap((line) => {
      const [, blob, path] = /^\d+ blob (\S+)\t(.*)$/s.exec(line) ?? [];
      return blob && path ? [[path, blob]] : [];
    }),
  );
}

async function detectedIn(git: Git, files: Files): Promise<DetectedManager | undefined> {
  const names = new Set([...files.keys()].filter((path) => !path.includes("/")));
  const textOf = async (name: string) => {
    const blob = files.get(name);
    return blob && (await git.readBlob(blob))?.toString("utf8");
  };
  if (!names.has("package.json")) return undefined;
  const yarnLock = names.has("yarn.lock") ? await textOf("yarn.lock") : undefined;
  return detectManager(names, { packageJson: await textOf("package.json"), yarnLock });
}

/** Of what a hash depends on: path and content. Without any input that can change, the whole commit. */
async function contentsOf(git: Git, commit: string, files: Files, inputs: readonly string[] | undefined) {
  if (inputs?.length === 0) return [["", await git.treeOf(commit)] as const];
  const isInput = inputs
    ? (path: string) => inputs.some((input) => path === input || path.startsWith(`${input}/`))
    : isDependencyFile;
  const paths = [...files.keys()].filter(isInput).sort();
  const manifests = paths.filter((path) => path.split("/").at(-1) === "package.json");
  const parts = await readBlobs(
    git,
    manifests.map((path) => files.get(path) ?? ""),
  );
  return paths.map((path) => {
    const at = manifests.indexOf(path);
    return [path, at === -1 ? (files.get(path) ?? "") : manifestPart(parts[at] ?? "")] as const;
  });
}

/** Reads many blobs with one process. */
async function readBlobs(git: Git, blobs: readonly string[]): Promise<string[]> {
  if (blobs.length === 0) return [];
  const { stdout } = await git.run(["cat-file", "--batch"], blobs.map((blob) => `${blob}\n`).join(""));
  const texts: string[] = [];
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf("\n", at);
    const size = Number(/ (\d+)$/.exec(stdout.toString("latin1", at, end))?.[1] ?? 0);
    texts.push(stdout.toString("utf8", end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return texts;
}

/** Of the Node that commands find in PATH. */
async function nodeVersion({ config: { environment } }: CrewApp): Promise<string> {
  const program = findProgram("node", environment.PATH ?? "", "/");
  return (program && (await programVersion(program, {}))) ?? process.version;
}
